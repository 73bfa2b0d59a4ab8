"""What a person reads of a call that an agent wrote: no credential, and no text that passes for ours."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from doorward.approvals.shown import MAX_ASKED_CHARACTERS, arguments_shown, as_list, as_text, lines_naming
from doorward.model.approvals import ApprovalRequest
from doorward.model.calls import File

from ..conftest import CONFIG, HOSTILE
from .test_approvals import requests


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


def test_secrets_are_not_shown() -> None:
    """Those that Doorward knows, and texts that are called like one, however deep."""
    shown = arguments_shown(
        {
            "password": "hunter",
            "deep": [{"api_key": "x", "token": ["y1"], "name": "ann"}],
            "note": "has k3y in it",
            "pin": 3,
        },
        lambda text: text.replace("k3y", "[secret]"),
    )
    assert "hunter" not in shown
    assert '"api_key": "[secret]"' in shown
    assert "y1" not in shown
    assert '"name": "ann"' in shown
    assert "has [secret] in it" in shown


def test_files_are_described() -> None:
    shown = arguments_shown({"file": File(b"12345", "image/png", "a\x1b.png"), "raw": b"123"}, str)
    assert r"<a file of 5 bytes: a\u001b.png>" in shown
    assert "<3 bytes>" in shown


@pytest.mark.anyio
async def test_a_credential_of_a_server_stays_with_us(doorward_host: Any) -> None:
    """A program that knows one passes it on: neither the file nor the question has it."""
    secret = "sk-live-Zx81kQm02LpVw77"
    config = CONFIG + 'token = "${TOKEN}"\n'
    async with doorward_host.gateway(config, environ={"TOKEN": secret}) as gate:
        await gate.execute(f"result = await weather.add_station(city='{secret}')")
        (request,) = requests(gate)
        kept = b"".join(file.read_bytes() for file in gate.state.glob("approvals.db*"))
    assert secret not in request.arguments + "".join(request.lines)
    assert secret.encode() not in kept
