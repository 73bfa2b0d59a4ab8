"""The demo's API by itself, as a process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from importlib import resources
from typing import Any

import httpx2
import pytest
from doorward_demo import data

pytestmark = pytest.mark.slow

KEY = "demo-key-of-the-tests"


@pytest.fixture(scope="module")
def api() -> Iterator[httpx2.Client]:
    """A client that holds the key, of a service that ends with its standard input."""
    process = subprocess.Popen(
        [sys.executable, "-m", "doorward_demo.service"],
        env={**os.environ, "DEMO_API_KEY": KEY},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    with (
        process,
        httpx2.Client(base_url=process.stdout.readline().decode().strip(), headers={"X-Api-Key": KEY}) as client,
    ):
        yield client
    assert process.returncode == 0


@pytest.mark.parametrize("headers", [{}, {"X-Api-Key": ""}, {"X-Api-Key": KEY + "x"}])
def test_without_the_key_every_path_answers_401(api: httpx2.Client, headers: dict[str, str]) -> None:
    """A missing or wrong key is refused as problem+json."""
    for path in ("/books", "/books/1", "/members", "/loans/1", "/debug/echo"):
        answer = httpx2.get(f"{api.base_url}".rstrip("/") + path, headers=headers)
        assert (answer.status_code, answer.headers["content-type"]) == (401, "application/problem+json")
        assert answer.json()["status"] == 401


def test_pages_hold_every_record_once(api: httpx2.Client) -> None:
    """Following `next_page` gives all loans in order, and no more pages than there are."""
    found: list[Any] = []
    page: int | None = 1
    while page:
        answer = api.get("/loans", params={"page": page, "per_page": 50}).json()
        assert answer["page"] == page
        found, page = found + answer["items"], answer["next_page"]
    assert list(data.loans().values()) == found[: len(data.loans())]


def test_filters_narrow_and_unknown_ones_are_refused(api: httpx2.Client) -> None:
    """Filters combine; one that does not exist is a 400, not ignored."""
    answer = api.get("/loans", params={"returned": "false", "due_before": str(data.TODAY), "member_id": 7}).json()
    expected = [
        n for n in data.loans().values() if n["member_id"] == 7 and not n["returned"] and n["due"] < str(data.TODAY)
    ]
    assert expected == answer["items"]
    assert api.get("/books", params={"q": "lighthouse", "available": "true"}).json()["total"] > 0
    assert api.get("/books", params={"colour": "red"}).status_code == 400
    assert api.get("/books", params={"page": "0"}).status_code == 400


def test_a_record_is_made_changed_and_removed(api: httpx2.Client) -> None:
    """Create, update and delete do what they say, and wrong bodies are refused."""
    made = api.post("/books", json={"title": "A", "author": "B", "genre": "poetry"})
    assert made.status_code == 201
    path = f"/books/{made.json()['id']}"
    assert api.patch(path, json={"price": 3}).json()["price"] == 3
    assert api.patch(path, json={"price": "3"}).status_code == 422
    assert api.patch(path, json={"weight": 3}).status_code == 422
    assert api.delete(path).status_code == 204
    assert api.get(path).status_code == 404
    assert api.post("/books", json={"title": "A"}).status_code == 422
    assert api.post("/books", content=b"no json").status_code == 400


def test_a_repeated_loan_is_one_loan(api: httpx2.Client) -> None:
    """The same Idempotency-Key answers the same loan; without one, the copies run out."""
    book = next(b["id"] for b in api.get("/books", params={"available": "true"}).json()["items"])
    loan = {"book_id": book, "member_id": 1}
    first, second = (api.post("/loans", json=loan, headers={"Idempotency-Key": "once"}) for _ in range(2))
    assert first.json() == second.json()
    answers = [api.post("/loans", json=loan).status_code for _ in range(5)]
    assert (answers[-1], set(answers)) == (409, {201, 409}) or set(answers) == {409}


def test_the_document_describes_every_route(api: httpx2.Client) -> None:
    """The OpenAPI document is served to everybody and has exactly the service's operations."""
    from doorward_demo.library import Library
    from doorward_demo.service import routes

    served = httpx2.get(f"{api.base_url}".rstrip("/") + "/openapi.json").json()
    assert json.loads(resources.files("doorward_demo").joinpath("openapi.json").read_text()) == served
    verbs = {"get", "post", "patch", "put", "delete"}
    described = {(path, verb.upper()) for path, item in served["paths"].items() for verb in item if verb in verbs}
    offered = {
        (r.path.replace(":int", ""), m)
        for r in routes(Library(), lambda handler: handler)
        for m in r.methods or ()
        if m != "HEAD"
    }
    assert described == offered - {("/openapi.json", "GET")}
