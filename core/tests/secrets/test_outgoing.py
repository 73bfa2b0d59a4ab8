"""Texts that leave for somebody who is owed no credential."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from doorward.secrets.outgoing import Outgoing, without_tokens
from doorward.secrets.redaction import REDACTED
from doorward.secrets.scrubber import answers_of
from doorward.secrets.store import Secrets
from hypothesis import given
from hypothesis import strategies as st

LONG = "v3ry-l0ng-and-unguessable"


def outgoing(configured: dict[str, Any], environ: dict[str, str] | None = None, folder: Path | None = None) -> Outgoing:
    return Outgoing(Secrets(environ=environ or {}, folder=folder), lambda: configured, answers_of("llm"))


@pytest.mark.parametrize(
    ("configured", "environ"),
    [
        ({}, {"API_TOKEN": LONG}),
        ({"auth": {"token": "${MINE}"}}, {"MINE": LONG}),
        ({"auth": [{"value": "Key ${MINE}"}]}, {"MINE": LONG}),
        ({"auth": {"value": LONG}}, {}),
        ({"auth": {"password": LONG}}, {}),
        ({"headers": {"Authorization": f"Bearer {LONG}"}}, {}),
        ({"url": "${MY_SECRET:-" + LONG + "}"}, {}),
        ({"anything": "${file:secret.txt}"}, {}),
    ],
)
def test_what_could_be_revealed_does_not_leave(
    configured: dict[str, Any], environ: dict[str, str], tmp_path: Path
) -> None:
    """A secret of the environment or of the configuration is found before anything has used it, also encoded."""
    (tmp_path / "secret.txt").write_text(LONG)
    clear = outgoing({"servers": {"a": configured}}, environ, tmp_path)
    assert clear(f"it is {LONG}.") == f"it is {REDACTED}."
    assert LONG.encode().hex() not in clear(LONG.encode().hex())


def test_what_is_no_secret_leaves() -> None:
    """Words, switches, addresses and what a program could guess stay as they are."""
    environ = {
        "AUTH_FILE": "/home/me/auth.json",
        "API_KEY": "hunter2",
        "TOKEN_URL": "https://example.com/token",
        "A": LONG,
    }
    clear = outgoing({"a": {"model": "${A}", "url": "https://api.example.com/v1", "token": "${NOT_SET}"}}, environ)
    for text in (*environ.values(), "the secret of good bread is time"):
        assert clear(text) == text


def test_a_rotated_secret() -> None:
    """A value that comes later is found as well."""
    environ = {"API_TOKEN": LONG}
    clear = outgoing({}, environ)
    assert clear(LONG) == REDACTED
    environ["API_TOKEN"] = f"another-{LONG[::-1]}-9"
    assert environ["API_TOKEN"] not in clear(environ["API_TOKEN"])


KEY = "a1B2c3D4e5F6g7H8"


@pytest.mark.parametrize(
    "secret",
    [
        f"sk-proj-{KEY}{KEY}",
        f"sk-ant-api03-{KEY}{KEY}",
        f"ghp_{KEY}{KEY}",
        f"glpat-{KEY}{KEY}",
        "AKIA" + "ABCD1234" * 2,
        f"AIza{KEY}{KEY}",
        f"xai-{KEY}{KEY}",
        f"pplx-{KEY}{KEY}",
        f"eyJ{KEY}.eyJ{KEY}.{KEY}",
        "-----BEGIN RSA " + f"PRIVATE KEY-----\n{KEY}\n-----END RSA PRIVATE KEY-----",
    ],
)
def test_tokens_by_their_looks(secret: str) -> None:
    """What looks like a token of a known service or a private key is one, wherever it stands."""
    for text in (secret, f"a {secret} b", f'{{"x": "{secret}"}}', f"({secret})"):
        assert without_tokens(text) == text.replace(secret, REDACTED)
    assert KEY not in without_tokens("${" + secret + "}")


@pytest.mark.parametrize(
    "text",
    [
        f"https://user:{KEY}@example.com/",
        f"password = '{KEY}'",
        f'{{"client_secret": "{KEY}"}}',
        f"API_KEY={KEY}; b",
        f"api-key: {KEY}",
        f"Authorization: Bearer {KEY}",
        f"curl -H 'X-Auth-Token: {KEY}'",
        f"token => {KEY}",
        f"bearer {KEY}",
    ],
)
def test_values_beside_a_name(text: str) -> None:
    """A value beside the name of a credential is one, in each notation; the rest of the text stays."""
    assert without_tokens(text) == text.replace(KEY, REDACTED)


@pytest.mark.parametrize(
    "text",
    [
        "commit 3f786850e387550fdab836ed7e6dc881de23001b",
        "def login(token: str, password: str) -> None:",
        'api_key = os.environ["OPENAI_API_KEY"]',
        "id 550e8400-e29b-41d4-a716-446655440000",
        'pairs such as {"monkey": "banana12"}',
        "secret: yes, token: none, see https://example.com/token",
    ],
)
def test_what_only_reminds_of_a_token(text: str) -> None:
    """Source code, hashes and prose stay."""
    assert without_tokens(text) == text


@pytest.mark.slow
@given(st.text(max_size=200))
def test_a_cleared_text_stays(text: str) -> None:
    """A text that was cleared is not changed again: it may be sent twice."""
    clear = outgoing({}, {"API_TOKEN": LONG})
    once = clear(text + json.dumps({"token": text, "password": "abc123"}) + LONG)
    assert clear(once) == once


@pytest.mark.parametrize(
    "text", ["x=1 " * 50_000, "a.-" * 60_000, "-----BEGIN PRIVATE KEY-----" * 5_000, "://" * 50_000]
)
def test_hostile_texts_take_no_time(text: str) -> None:
    """Each pattern reads a text in one pass, or the test would not end."""
    without_tokens(text)
