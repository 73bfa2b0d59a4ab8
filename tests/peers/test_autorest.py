"""AutoRest's test server: which of its scenarios Doorward's calls meet, and what programs are answered."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree

import pytest

from .autorest import documents, made, serving
from .autorest_calls import CALLS

pytestmark = [pytest.mark.anyio]

COOKIES = "the server knows a repeated request by a cookie: none is kept, for a load balancer's would lead back to what failed"
ONCE = "a POST and a PATCH are not repeated, nor is what answered 500"
EMPTY = "a variable of the path must not be empty: the path would be another one"

UNMET: dict[str, str] = {
    "HttpRetry408Head": COOKIES,
    "HttpRetry500Put": ONCE,
    "HttpRetry500Patch": ONCE,
    "HttpRetry502Get": COOKIES,
    "HttpRetry502Options": COOKIES,
    "HttpRetry503Post": ONCE,
    "HttpRetry503Delete": COOKIES,
    "HttpRetry504Put": COOKIES,
    "HttpRetry504Patch": ONCE,
    "RequestWithSecrets": "the document describes neither the query nor the body that the server wants",
    "UrlPathsByteEmpty": EMPTY,
    "UrlPathsStringEmpty": EMPTY,
}
"""The scenarios that are not met, and why."""

REFUSED: dict[str, str] = {
    "httpinfrastructure.http_redirects_patch302": "a PATCH is not repeated there",
    "httpinfrastructure.http_redirects_put301": "a PUT is not repeated there",
    **{
        f"httpinfrastructure.http_redirects_{method}307": "is no function of httpinfrastructure, and may change something"
        for method in ("put", "post", "patch", "delete")
    },
    "body_file.files_get_file_large": "answered with more than 50 MiB",
    "url.paths_string_empty": "must not be empty",
    "url.paths_byte_empty": "must not be empty",
}
"""What of a call's error says that no answer came, by function."""

SETTINGS: dict[str, Any] = {
    "security_aad": {"auth": {"type": "bearer", "token": "https://security.microsoft.com/.default"}},
    "security_key": {"auth": {"type": "api_key", "name": "security-key", "value": "123456789"}},
}


@dataclass(frozen=True)
class Run:
    """How often each scenario was met; what came of each call; what a plain client is answered, by function."""

    report: dict[str, int]
    answers: list[tuple[str, Any]]
    plain: dict[str, Any]


@pytest.fixture(scope="module")
async def run(tmp_path_factory: pytest.TempPathFactory, anyio_backend: str) -> AsyncIterator[Run]:
    """All calls, made once (some seconds)."""
    folder = tmp_path_factory.mktemp("autorest")
    with serving(folder) as server:
        async with documents([*CALLS], server, folder, **SETTINGS) as gate:
            answers = [answer for name, table in CALLS.items() for answer in await made(gate, name, table)]
            report = server.report()
            called = {name: gate.catalog.function(*name.split(".")) for name, _ in answers}
            reads = {
                name: f.route.split()[1]
                for name, f in called.items()
                if f and f.route.startswith("GET") and not f.parameters["properties"]
            }
            yield Run(
                report, answers, {name: server.plain(path) for name, path in reads.items() if name not in REFUSED}
            )


async def test_scenarios_are_met(run: Run) -> None:
    """All scenarios are met but for those that are listed, which are not: a request that is wrong counts for none."""
    assert {name for name, count in run.report.items() if not count} == UNMET.keys()
    assert len(run.report) - len(UNMET) >= 630


def leaves(value: Any) -> list[str]:
    """What stands in a value, or in XML, without its form."""
    if isinstance(value, ElementTree.Element):
        texts = [*value.itertext(), *(text for each in value.iter() for text in each.attrib.values())]
        return sorted(text.strip().lower() for text in texts if text.strip())
    if isinstance(value, dict | list):
        parts = value.values() if isinstance(value, dict) else value
        return sorted(leaf for part in parts for leaf in leaves(part))
    return [] if value in (None, "") else [str(value).lower()]


def is_same(answer: Any, plain: Any) -> bool:
    """Whether an answer is what a plain client got, or what XML says by its schema."""
    is_read = isinstance(plain, str) and plain.lstrip().startswith("<") and not isinstance(answer, str)
    return answer == plain or (is_read and leaves(answer) == leaves(ElementTree.fromstring(plain)))


async def test_answers_arrive_as_they_are(run: Run) -> None:
    """What a program is answered is what a plain client is."""
    wrong = {
        name: (answer, run.plain[name])
        for name, answer in run.answers
        if name in run.plain and not is_same(answer, run.plain[name])
    }
    assert wrong == {}
    assert len(run.plain) >= 295  # functions that need no argument


async def test_calls_that_are_refused(run: Run) -> None:
    """No call fails without an answer but those that are listed."""
    refused = {
        name: answer["error"] for name, answer in run.answers if isinstance(answer, dict) and answer.keys() == {"error"}
    }
    assert {name: why for name, why in REFUSED.items() if why in refused.get(name, "")} == REFUSED
    assert refused.keys() == REFUSED.keys(), refused
