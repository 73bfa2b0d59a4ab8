"""What the guard takes for a secret, what it redacts, and what it lets alone."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from doorward import ApiError, File, GuardRefused, PluginContext, Program
from doorward_guard_secrets import SecretsGuard
from doorward_testing import call_of

GITHUB = "ghp_" + "1234567890abcdefABCD1234567890abcdef"
KEYS = [
    GITHUB,
    "AKIA" + "IOSFODNN7EXAMPLE",
    "sk-ant-" + "api03-12345678901234abcdefghij",
    "https://hooks.slack.com/services/" + "T0A1B2C3D/B9Z8Y7X6W/abcdefghijklmnopqrstuvwx",
    "sk_live_" + "4eC39HqLyjWDarjtT1zdp7dc",
    "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEA0Z3VS5JJcds3xfn\n-----END RSA PRIVATE KEY-----",
    "eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U",
]
HARMLESS = [
    "xoxb-XXXXXXXX-XXXXXXXX-XXXXXXXX",
    "ghp_ begins a token, and -----BEGIN PRIVATE KEY----- a key",
    "3f786850e387550fdab836ed7e6dc881de23001b",
    "8c0a3c52-7d6b-4a6e-9d43-7f4d1c5b9a10",
    "eyJwYWdlIjozLCJhZnRlciI6IjIwMjQtMDEtMDEifQ==",
    "next_page_token = 'CAEQAAoGCgQIARAB1234567890'",
    "AC" + "a" * 32,
    "sk-ecdsa-sha2-nistp256@openssh.com",
    "xoxa-access-token-string",
]


def guard(**settings: Any) -> SecretsGuard:
    made = SecretsGuard.Settings.model_validate(settings)
    return SecretsGuard(PluginContext("secrets", made, Path("unused")))


def changed(result: Any, **settings: Any) -> Any:
    answer = guard(**settings).change_result(call_of(), result)
    return result if answer is None else answer


@pytest.mark.slow
@pytest.mark.parametrize("key", KEYS)
def test_a_key_is_refused_wherever_it_stands(key: str) -> None:
    """CONTRACT: SEC-03. In code, with its line; in parameters; in arguments at any depth; in a file. It is not quoted."""
    checks = guard()
    [finding] = checks.guard_program(Program(f"a = 1\nb = '''{key}'''"))
    assert (finding.line, finding.refuse) == (2, True)
    [in_params] = checks.guard_program(Program("a", {"notes": [{"text": f"it is {key}."}]}))
    for given in ({"a": {"b": [key]}}, {"a": {key: 1}}, {"a": File(key.encode())}, {"a": key.encode()}):
        refusal = checks.guard_call(call_of(**given)) or ""
        assert "what looks like" in refusal
        assert key not in refusal + finding.message + in_params.message


@pytest.mark.parametrize("text", HARMLESS)
def test_what_only_looks_odd_passes(text: str) -> None:
    """Ids, digests, cursors of pages, examples made of one letter, and talk about keys are no keys."""
    assert guard().guard_program(Program(f"a = '''{text}'''")) == []
    assert guard().guard_call(call_of(a=text)) is None
    assert changed({"a": text}, redact=["card", "phone", "key"]) == {"a": text}


def test_functions_that_store_secrets_may_get_them() -> None:
    """Only those that the operator names."""
    checks = guard(may_carry=["vault.*"])
    assert checks.guard_call(call_of("vault.put", value=GITHUB)) is None
    assert checks.guard_call(call_of("notes.put", value=GITHUB)) is not None


def test_results_are_redacted_as_the_operator_says() -> None:
    """Each kind alone, at any depth, in names of fields, numbers, files and bytes; the rest is the very same."""
    given = {
        "to": ["Ann <ann.lee@example.com>", {"bob@example.org": 4111111111111111}],
        "call": "+44 20 7183 8750 or 1-415-867-5309",
        "at": 1700000000000,
        "key": f"x {KEYS[1]} y {KEYS[5]} z",
        "file": File(b"card 4111 1111 1111 1111", "text/plain", "ann.lee@example.com.txt"),
        "bytes": b"\xff\xfe4111111111111111",
    }
    assert changed(given) is given
    mails = changed(given, redact=["email"])
    assert mails["to"] == ["Ann <[email]>", {"[email]": 4111111111111111}]
    assert mails["file"].name == "[email]"
    assert (mails["call"], mails["key"]) == (given["call"], given["key"])
    cards = changed(given, redact=["card"])
    assert cards["to"][1] == {"bob@example.org": "[card]"}
    assert cards["file"].content == b"card [card]"
    assert (cards["at"], cards["bytes"]) == (1700000000000, given["bytes"])
    assert changed(given, redact=["phone"])["call"] == "[phone] or 1-415-867-5309"
    assert changed(given, redact=["phone"], region="US")["call"] == "[phone] or [phone]"
    assert changed(given, redact=["key"])["key"] == "x [key] y [key] z"


def test_errors_are_redacted_too() -> None:
    """What a server says of a person when it refuses is redacted as a result is."""
    error = changed(
        ApiError("no mail to ann@example.com", status=422, body={"to": "ann@example.com"}), redact=["email"]
    )
    assert (error.message, error.body, error.status) == ("no mail to [email]", {"to": "[email]"}, 422)


def test_a_result_too_large_to_be_looked_through_is_refused() -> None:
    """It does not pass unread; without `redact` nothing is read at all."""
    large = ["x" * 1000] * 2000
    with pytest.raises(GuardRefused, match="too large"):
        changed(large, redact=["email"])
    assert changed(large) is large
    assert changed(large, redact=["email"], max_bytes="4MiB") is large


SPECS = os.environ.get("DOORWARD_SPECS")


@pytest.mark.slow
@pytest.mark.skipif(not SPECS, reason="DOORWARD_SPECS is not set")
def test_documents_of_vendors_hold_few_keys() -> None:
    """Of some megabytes of foreign text, next to nothing is taken for a key."""
    from doorward_guard_secrets.keys import found

    texts = {file.name: file.read_text(errors="replace") for file in Path(SPECS or "").glob("*.*ml")}
    texts |= {file.name: file.read_text(errors="replace") for file in Path(SPECS or "").glob("*.json")}
    assert len(texts) > 3
    assert {name: [*found(text)] for name, text in texts.items() if [*found(text)]} == {}
