"""What the body of an error says, in the shapes that APIs use."""

from __future__ import annotations

import itertools
import json
import time
from typing import Any

import pytest
from doorward.secrets.scrubber import Scrubber
from doorward_http import error_text
from hypothesis import given
from hypothesis import strategies as st

HTML = (
    "<!DOCTYPE html><html><head><title>502 Bad Gateway</title><style>a > b {}</style><script>if (a < b) "
    "{'</p>'}</script></head>"
    "<body><!-- hidden <b>too</b> --><h1>502 Bad Gateway</h1><p>nginx &amp; friends, <i>a-b</i></p></body></html>"
)
FAULT = (
    "<?xml version='1.0'?><s:Envelope xmlns:s='u'><s:Body><s:Fault><faultcode>s:Client</faultcode>"
    "<faultstring><![CDATA[no such quay]]></faultstring></s:Fault></s:Body></s:Envelope>"
)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        # Prefect, FastAPI
        ({"exception_message": "Invalid request.", "exception_detail": [{"loc": ["body", "name"], "msg": "Field required"}], "b": {}},
         "Invalid request: body.name: Field required"),
        ({"detail": [{"loc": ["body", 0, "x"], "msg": "missing", "input": {"message": "not this"}}]}, "body.0.x: missing"),
        ({"detail": [{"loc": ["query", f"q{n}"], "msg": "bad"} for n in range(7)]},
         "query.q0: bad; query.q1: bad; query.q2: bad; query.q3: bad; query.q4: bad; and 2 more"),
        # RFC 9457, ASP.NET, RFC 7807's own example
        ({"type": "about:blank", "title": "Out of credit", "detail": "30 short", "status": 403}, "Out of credit: 30 "
                                                                                                 "short"),
        ({"detail": "30 short", "title": "Out of credit"}, "Out of credit: 30 short"),
        ({"title": "Invalid", "errors": [{"detail": "must be positive", "pointer": "#/age"}]}, "Invalid: #/age: must "
                                                                                               "be positive"),
        ({"title": "Invalid", "errors": {"Name": ["is required"], "title": ["is blank"]}}, "Invalid: Name: is "
                                                                                           "required; title: is blank"),
        ({"title": "Invalid", "invalid-params": [{"name": "age", "reason": "must be positive"}]}, "Invalid: age: must "
                                                                                                  "be positive"),
        # Directus, GraphQL, JSON:API
        ({"errors": [{"message": 'Invalid payload. "a" is required.', "extensions": {"reason": '"a" is required', "code": "INVALID"}}]},
         'Invalid payload. "a" is required.'),
        ({"errors": [{"message": "Not valid.", "extensions": {"errors": [{"message": 'no field "x"', "locations": [{}]}], "code": "V"}}]},
         'Not valid: no field "x"'),
        ({"data": None, "errors": [{"message": "boom", "path": ["user", 0, "name"]}]}, "user.0.name: boom"),
        ({"errors": [{"status": "422", "source": {"pointer": "/data/x"}, "title": "Bad", "detail": "too long"}]}, "/data/x: Bad: too long"),
        # OAuth, Google, GitHub, Kubernetes, Jira, Cloudflare, Django, SAP, Spring, Slack
        ({"error": "invalid_request", "error_description": "The x", "error_uri": "https://e.test"}, "invalid_request: "
                                                                                                    "The x"),
        ({"error": {"code": 400, "message": "bad", "details": [{"fieldViolations": [{"field": "x", "description": "low"}]}]}},
         "bad: field: x; description: low"),
        ({"message": "Validation Failed", "errors": [{"resource": "Issue", "field": "title", "code": "missing_field"}]},
         "Validation Failed: resource: Issue; field: title; code: missing_field"),
        ({"kind": "Status", "message": 'pods "x" not found', "reason": "NotFound", "code": 404}, 'pods "x" not found: '
                                                                                                 'NotFound'),
        ({"errorMessages": [], "errors": {"summary": "is required"}}, "summary: is required"),
        ({"success": False, "errors": [{"code": 1003, "message": "Invalid zone"}], "messages": [], "result": None}, "Invalid zone"),
        ({"title": ["is blank"], "name": ["is too long"]}, "title: is blank; name: is too long"),
        ({"error": {"message": {"lang": "en", "value": "no such order"}}}, "lang: en; value: no such order"),
        ({"timestamp": 1, "status": 404, "error": "Not Found", "message": "no such user", "path": "/users/1"}, "no such user: Not Found"),
        ({"ok": False, "error": "channel_not_found"}, "channel_not_found"),
        # wrapped, nested, JSON in a text
        ({"status": "error", "data": {"response": {"message": "inner"}}}, "inner"),
        ({"message": '{"error": {"message": "in a text"}}'}, "in a text"),
        ('{"detail": "as text"}', "as text"),
        # texts
        ("quota  exceeded\n", "quota exceeded"),
        ('{"message": "cut he', '{"message": "cut he'),
        ("<3 of these", "<3 of these"),
        (HTML, "502 Bad Gateway: nginx & friends, a-b"),
        (FAULT, "no such quay"),
        ("<Error><Code>NoKey</Code><Message>no such key</Message></Error>", "no such key"),
        ("<r><a>one</a><b>two</b></r>", "one two"),
        ("", ""), ("\x00\u200b", ""), ({}, ""), ([], ""), (None, ""),
    ],
)  # fmt: skip
def test_the_words_for_a_reader_are_told(body: Any, said: str) -> None:
    """Of every usual shape: what is wrong, and with what, without codes, addresses and what was sent."""
    assert error_text(body) == (json.dumps(said, ensure_ascii=False) if said else "")


@pytest.mark.parametrize(
    "body", [{"name": "too long"}, {"error": True, "code": 3}, [{"a": [1, None]}], {"errors": [17]}, 42]
)
def test_what_has_no_words_is_told_as_it_is(body: Any) -> None:
    """A body in which nothing is named for a reader is shown itself, on one line."""
    assert json.loads(error_text(body)) == body


@pytest.mark.parametrize(
    "body",
    [
        "a\x1b[31mb\u202ec\x00\x9bd\r\nhint: e\u2028f",
        {"message": "a\x1b]0;x\x07b\u200bc\nerror: d"},
        {"a\u202eb\n": "c\u2028\x7fd"},
    ],
)
def test_nothing_unseen_is_told(body: Any) -> None:
    """No control characters, direction marks or line breaks: a line of ours cannot be forged."""
    assert error_text(body).isprintable()
    assert error_text(body)[0] in '"{'


NAMES = st.sampled_from(
    ["message", "errors", "detail", "title", "loc", "path", "extensions", "source", "name", "code", "x\n"]
)
TEXTS = st.text() | st.sampled_from(["<p>a</p>", "<!-- x", "<![CDATA[", '{"message": "m"}', "[1", "a\u2028hint: b"])
BODIES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS,
    lambda inner: st.lists(inner, max_size=8) | st.dictionaries(NAMES | st.text(), inner, max_size=8),
)


@pytest.mark.slow
@given(BODIES)
def test_any_body_is_one_line(body: Any) -> None:
    """Whatever a body is made of, it is told without an error of ours, on one line, quoted or as JSON."""
    told = error_text(body)
    assert len(told.splitlines()) <= 1
    assert not told or told[0] in '"[{-0123456789tNI'
    assert not any(ord(character) < 32 or 127 <= ord(character) < 160 for character in told)


def test_a_credential_is_found_in_what_is_told() -> None:
    """Nothing is cut or joined that would keep the scrubber from a credential, even one with something unseen in the
    middle."""
    scrubber, secret = Scrubber(), "tok_9f8e7d6c5b4a39281706"
    scrubber.remember(secret)
    halves = f"{secret[:9]}\u200b{secret[9:]}"
    for body in (
        secret * 300,
        {"message": halves},
        {"a": halves},
        f"<p>{halves}</p>",
        {"message": json.dumps({"message": secret})},
        f"x{' ' * 120_000}{secret}",
    ):
        text = scrubber.scrub(error_text(body))
        assert secret[:8] not in text
        assert secret[9:] not in text


@pytest.mark.slow
@pytest.mark.parametrize(
    "body",
    [
        "<" * 99_999, "<!--" * 24_000, "<script>" * 12_000, "<a>-" * 24_000, "<![CDATA[" * 11_000, "<p>" + "&" * 99_000, "<a " * 33_000,
        "{" * 99_999, "[" * 99_999, '{"message":' * 9_000, " " * 2_000_000 + "x", "\u200b" * 2_000_000,
        lambda: {str(n): {"error": {}} for n in range(100_000)}, [[[{"errors": [{"x": {}}] * 1000}] * 5] * 5] * 5,
    ],
    ids=itertools.count(),
)  # fmt: skip
def test_hostile_bodies_take_no_time(body: Any) -> None:
    """No body takes more than a moment, whatever it is made of."""
    body = body() if callable(body) else body
    started = time.process_time()
    assert len(error_text(body)) < 20_000_000
    assert time.process_time() - started < 5


@pytest.mark.slow
def test_deep_bodies_are_told_to_some_depth() -> None:
    """Nothing is looked for in any depth."""
    body: Any = "the end"
    for _ in range(400):
        body = {"error": body}
    assert error_text(body).startswith('{"error"')
    for _ in range(100_000):
        body = {"error": body}
    assert error_text(body) == ""
