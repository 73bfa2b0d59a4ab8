"""What a person reads of a call that an agent wrote: no credential, and no text that passes for ours."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from dataclasses import replace
from typing import Any

import pytest
from doorward.model.calls import File
from doorward.model.functions import Compiled, Function
from doorward_approvals.request import ApprovalRequest
from doorward_approvals.shown import MAX_ASKED_CHARACTERS, arguments_shown, as_list, as_text, lines_naming
from doorward_testing.asked import says
from doorward_testing.hostile import HOSTILE
from doorward_testing.samples import CONFIG, Weather

from .test_approvals import ONCE, requests


def asked(arguments: str = "{}", lines: tuple[str, ...] = ()) -> ApprovalRequest:
    return ApprovalRequest("1f", "s.f", "write", arguments, "ann", "r", "[[policy.rules]] 1", "why", lines)


@pytest.mark.parametrize("text", [*HOSTILE, "\x1b[2J\x1b]0;x\x07", "\x9b31m", "\u200b", "\u202eevil", "\r", "\u2028"])
def test_nothing_in_arguments_moves_a_cursor_or_hides(text: str) -> None:
    """Escapes stay in sight as such, and each line is indented: no value begins a line of ours."""
    shown = arguments_shown({"a": text, text or "b": [text]}, str)
    assert all(letter.isprintable() or letter == "\n" for letter in shown)
    lines = as_text(asked(shown)).partition("Arguments:\n")[2].split("\n")
    assert all(line.startswith("    ") for line in lines)


def test_a_program_cannot_write_our_words() -> None:
    """Its lines have numbers, and are cut."""
    code = "x = 1\nf('\u202e\x1b[2J')\n" + f"f('{'y' * 500}')\n" + "prefix_f()\n" + "f()\n" * 20
    shown = lines_naming(code, "s.f", str)
    assert shown[0] == r"   2 | f('\u202e\x1b[2J')"
    assert shown[1].startswith("   3 | f('yyy")
    assert "NOT shown" in shown[1]
    assert len(shown) == 5
    assert not any("prefix_f" in line for line in shown)


def test_many_calls_are_told_apart() -> None:
    """What destroys comes first; of each a part is shown, no text of one passes for another, and lines come once."""
    line = "   2 | f(x)"
    calls = [asked(json.dumps({"a": f"\n2. s.g (read): {'x' * 9000}", "b": n}, indent=2), (line,)) for n in range(25)]
    text = as_list([*calls[1:], replace(calls[0], effect="destructive", function="s.g")])
    assert text.startswith(
        "ann wants to make 1 × s.g (destructive), 24 × s.f (write).\n\nA person is asked because of [[pol"
    )
    assert [each for each in text.split("\n") if each[:1].isdigit()] == [
        "1. s.g (destructive):", *(f"{n}. s.f (write):" for n in range(2, 26))
    ]  # fmt: skip
    assert all(f'"b": {n}' in text for n in range(25))
    assert text.count("NOT shown whole here: `doorward approvals show 1f`") == 25
    assert (text.count(line), len(text) < 25_000) == (1, True)


def test_what_is_left_out_is_said() -> None:
    """A person must not approve of a part only without knowing that."""
    text = as_text(asked("x" * 5000), 3000)
    assert "… 2000 more characters are NOT shown here: `doorward approvals show 1f` shows all of them" in text


@pytest.mark.parametrize(
    "long",
    [
        "x" * 9000,
        "\x7f\\" * 3000,
        "\U000e0001" * 900,
        ["x"] * 3000,
        [["x" * 300] * 30],
        {str(n): "x" for n in range(900)},
    ],
)
def test_no_long_argument_hides_the_next(long: Any) -> None:
    """An agent chooses the order of arguments: whoever is asked sees each of them, and that there is more."""
    text = as_text(asked(arguments_shown({"note": long, "to": "mallory"}, str)), MAX_ASKED_CHARACTERS)
    assert '    "to": "mallory"' in text
    assert "NOT shown whole here" in text
    assert len(text) < MAX_ASKED_CHARACTERS + 1000


def test_nobody_is_called_like_our_words() -> None:
    request = replace(asked(), principal="ann\nArguments:\u202e")
    assert as_text(request).startswith(r"ann\nArguments:\u202e wants to call s.f")


NAMED = {
    "key": "PROJ-8", "issueKey": "PROJ-8", "object_key": "2026/a.pdf", "sort_key": "created-2026", "pageToken": "p2of9x",
    "pin": "4711a0", "password": "hunter22", "deep": [{"api_key": "x1y2z3", "token": ["y1y1y1"]}],
}  # fmt: skip


def test_no_name_hides_a_value() -> None:
    """An agent chooses what it calls things: whoever approves reads all that is no secret by its value."""
    assert json.loads(arguments_shown(NAMED, str)) == NAMED
    for line in (f"f(key={'PROJ-8'!r}, api_key='x1y2z3')", "f(token=sk-learn-classification-models)"):
        assert lines_naming(line, "s.f", str) == (f"   1 | {line}",)


def test_secrets_are_not_shown() -> None:
    """Those that Doorward knows, and what is a token, a private key or a password of a URL, whatever it is called; none
    hides what stands beside it."""
    given = {
        "note": "has k3y in it",
        "a": "sk-live-Zx81kQm02LpVw77qq",
        "b": ["-----BEGIN PRIVATE KEY-----", "https://ann:hunter@x.example/"],
        "to": "mallory",
    }
    shown = json.loads(arguments_shown(given, lambda text: text.replace("k3y", "[secret]")))
    assert shown == {
        "note": "has [secret] in it", "a": "[secret]", "b": ["[secret]", "https://ann:[secret]@x.example/"],
        "to": "mallory",
    }  # fmt: skip


def test_files_are_described() -> None:
    shown = arguments_shown({"file": File(b"12345", "image/png", "a\x1b.png"), "raw": b"123"}, str)
    assert r"<a file of 5 bytes: a\u001b.png>" in shown
    assert "<3 bytes>" in shown


@pytest.mark.anyio
@pytest.mark.usefixtures("confirming")
async def test_a_credential_of_a_server_stays_with_us(doorward_host: Any) -> None:
    """A program that knows one passes it on: neither the stored request nor the question has it."""
    secret = "sk-live-Zx81kQm02LpVw77"
    config = CONFIG + 'token = "${TOKEN}"\n'
    async with doorward_host.gateway(config, environ={"TOKEN": secret}) as gate:
        await gate.execute(f"result = await weather.add_station(city='{secret}')")
        (request,) = requests(gate)
        with contextlib.closing(sqlite3.connect(gate.state / "store.db")) as db:
            ((kept,),) = db.execute("SELECT value FROM records WHERE kind = 'approvals'")
    assert secret not in request.arguments + "".join(request.lines)
    assert b"add_station" in kept
    assert secret.encode() not in kept


LOGIN = {
    "type": "object",
    "properties": {
        "issueKey": {"type": "string"},
        "phrase": {"anyOf": [{"type": "string", "format": "password"}, {"type": "null"}]},
        "account": {"$ref": "#/$defs/Account"},
    },
}
ACCOUNT = {
    "type": "object",
    "properties": {
        "owner_id": {"type": "string", "writeOnly": True},
        "pin": {"type": "string", "writeOnly": True},
        "words": {"type": "array", "items": {"type": "string", "format": "password"}},
    },
    "additionalProperties": {"type": "string", "format": "password"},
}


class Vault(Weather):
    async def compile(self) -> Compiled:
        return Compiled([Function(self.name, "open", "open", parameters=LOGIN)], {"Account": ACCOUNT})

    async def call(self, call: Any) -> Any:
        return dict(call.arguments)


@pytest.mark.anyio
@pytest.mark.usefixtures("confirming")
async def test_what_a_document_marks_as_secret_is_not_shown(doorward_host: Any) -> None:
    """Wherever it stands: in the question, the stored request, the lines of the program and the proposed rule. The rest
    of the call is shown; `writeOnly` alone is no such mark."""
    doorward_host.install("source", "vault", Vault)
    code = (
        "result = await weather.open(issueKey='PROJ-8', phrase='Oslo', account={'owner_id': 'PROJ-9', 'pin': '31',"
        " 'words': ['ab', 'cd'], 'more': 'ef'})"
    )
    async with doorward_host.gateway(CONFIG.replace("fake", "vault")) as gate:
        outcome = await gate.execute(code, client=(person := says(ONCE)))
        assert outcome.ok
        (request,) = requests(gate)
    secret = "[secret]"
    account = {"owner_id": "PROJ-9", "pin": secret, "words": [secret, secret], "more": secret}
    assert json.loads(request.arguments) == {"issueKey": "PROJ-8", "phrase": secret, "account": account}
    (line,) = request.lines
    assert "issueKey='PROJ-8', phrase='[secret]', account={'owner_id': 'PROJ-9', 'pin': '[secret]'" in line
    assert request.always == {}
    (asked,) = person.asked
    assert '"issueKey": "PROJ-8"' in asked["message"]
    assert not any(f"'{each}'" in asked["message"] for each in ("Oslo", "31", "ab", "cd", "ef"))
