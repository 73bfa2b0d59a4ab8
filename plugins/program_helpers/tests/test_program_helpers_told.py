"""What agents learn of `doorward`: its helpers, files, and how a result that was cut is read."""

from __future__ import annotations

import ast
from typing import Any

import pytest
from doorward import Call, DoorwardError, Program
from doorward.config.install_hints import owned
from doorward.data.quoting import told
from doorward_program_helpers import contents
from doorward_testing.samples import CONFIG, Weather

pytestmark = pytest.mark.anyio


async def test_every_helper_says_what_it_does(doorward_host: Any) -> None:
    """`get_functions(["doorward"])` lists all names that programs may import, and each has a card: valid Python,
    without our own words."""
    async with doorward_host.gateway(CONFIG) as gate:
        (whole,) = await gate.get_functions(["doorward"])
        names = gate.modules.members("doorward", "local")
        assert names is not None
        assert {"search", "read", "path", "ApiError", "ToolError"} <= set(names)
        for name in {*names} - {"skills"}:  # which doorward-skills brings
            (card,) = await gate.get_functions([f"doorward.{name}"])
            assert f"\n{name}" in whole["text"]
            head = ast.parse(card["text"]).body[1]
            assert isinstance(head, (ast.FunctionDef, ast.ClassDef))
            assert head.name == name
            assert len(ast.get_docstring(head) or "") > 20, name
            assert "run" not in card["signature"]
            assert "'" not in card["signature"].replace("''", ""), "annotations stand without quotes"
        assert len(whole["text"]) < 2400
        assert "a result that was cut" in (await gate.get_functions(["doorward.read"]))[0]["text"]
        assert (await gate.execute("await doorward.describe('doorward.read')")).value == card_of(gate, "doorward.read")


def card_of(gate: Any, name: str) -> str:
    return str(gate.modules.told.card(name, Program(""))["text"])


async def test_who_brings_each_helper_is_known(doorward_host: Any) -> None:
    """Where this distribution is absent, each name in `doorward` still says what to install."""
    async with doorward_host.gateway(CONFIG) as gate:
        assert owned()["helper"].keys() - {"skills"} == {*gate.modules.helpers["doorward"], "doorward"} - {"call"}


async def test_names_that_are_none(doorward_host: Any) -> None:
    """A misspelt helper is told by near names, anything else by all of them; `doorward` is no server to search."""
    async with doorward_host.gateway(CONFIG) as gate:
        for asked, said in (
            ("serch", "Near: doorward.search"),
            ("apierror", "Near: doorward.ApiError"),
            ("zzz", "There are: servers, search"),
            ("account", 'Name the account in each call, by the argument _account: "work".'),
        ):
            (card,) = await gate.get_functions([f"doorward.{asked}"])
            assert said in card["error"]
            error = (await gate.execute(f"await doorward.call('doorward.{asked}')")).error
            assert error is not None
            assert said in error.message
        with pytest.raises(DoorwardError) as refused:
            await gate.search_functions("read a result", server="doorward")
        assert 'get_functions(["doorward"])' in told(refused.value)


async def test_what_is_wrong_with_the_call_of_a_helper(doorward_host: Any) -> None:
    """It is told in the words of programs: the helper's name, what is missing, how it is written."""
    async with doorward_host.gateway(CONFIG) as gate:
        for code, said, hint in [
            (
                "await doorward.call()",
                "doorward.call: missing a required argument: 'function'",
                "doorward.call(function",
            ),
            (
                "await doorward.server(1, 2, 3)",
                "doorward.server: too many positional arguments",
                "doorward.server(name",
            ),
            ("await doorward.read(None)", "a handle of a file is wanted, not None", "doorward://results/"),
            (
                "await doorward.read('doorward://results/none')",
                "there is no result doorward://results/none",
                "or an earlier one of yours",
            ),
            ("await doorward.path('doorward://results/none')", "this sandbox has no files", "doorward.read(file)"),
        ]:
            error = (await gate.execute(code)).error
            assert error is not None
            assert (error.type, said in error.message, hint in (error.hint or "")) == (
                "InvalidArguments",
                True,
                True,
            ), error
            assert "Helpers" not in error.message
            assert "_" not in error.message


@pytest.mark.slow
async def test_a_cut_result_says_how_it_is_read(doorward_host: Any) -> None:
    """In the answer's text and structure, by what works in every executor; printed text too."""
    async with doorward_host.gateway(CONFIG) as gate:
        cut = await gate.execute("result = await weather.big()")
        assert cut.truncated is not None
        how = cut.truncated["read"]
        again = await gate.execute(f"rows = await {how}\nresult = [len(rows), rows[1999]['id']]")
        assert again.value == [2000, 1999]
        text = await gate.execute("'ä\"' * 20000")
        assert text.truncated is not None
        assert (await gate.result(text.truncated["rest"])).content.startswith('ä"ä"'), (
            "a text is kept as it is, not as JSON"
        )
        assert (await gate.execute(f"len(await {text.truncated['read']})")).value == 40000
        printed = await gate.execute("print('y' * 20000)")
        how = printed.printed.rpartition("in a program: ")[2]
        assert how.startswith("doorward.read(")
        assert (await gate.execute(f"await {how} == 'y' * 20000 + chr(10)")).value is True
        stolen = await gate.execute(f"await {how}", principal="mallory")
        assert stolen.error is not None
        assert stolen.error.type == "InvalidArguments"


async def test_a_large_file_is_not_read(doorward_host: Any) -> None:
    """What one answer may not hold, `doorward.read` does not either."""
    async with doorward_host.gateway(CONFIG + '[limits]\nresult = "1KiB"\n') as gate:
        kept = await gate.artefacts.keep(gate.artefacts.made(b"x" * 1025, "text/plain"), "local")
        error = (await gate.execute(f"await doorward.read('{kept.uri}')")).error
        assert error is not None
        assert "1025 bytes, more than 1024" in error.message


@pytest.mark.parametrize("content", [b"[" + b"[]," * 3000 + b"[]]", b"[" + b"{}," * 3000, b"[" + b"0," * 800 + b"0]"])
async def test_a_file_of_many_values_is_not_read(
    doorward_host: Any, monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    """Nothing is made of one that has more than is possible; a program can read it as text, or pass it on."""
    monkeypatch.setattr(contents, "MAX_PARTS", 1000)
    if len(content) > 2000:
        monkeypatch.setattr(contents, "read_json", lambda text: pytest.fail("it was read"))
    async with doorward_host.gateway(CONFIG) as gate:
        kept = await gate.artefacts.keep(gate.artefacts.made(content, "application/json"), "local")
        error = (await gate.execute(f"await doorward.read('{kept.uri}')")).error
        assert error is not None
        assert error.message == "the file has more than 1,000 values"
        assert error.hint == "Pass its handle on instead."


@pytest.mark.parametrize(
    ("type", "content", "value"),
    [
        ("text/plain; charset=iso-8859-1", b"\xe9", "é"),
        ("text/plain; charset=punycode", b"\xc3\xa9", "é"),
        ("application/json", b'{"a": [1.5, "\xc3\xa4"]}', {"a": [1.5, "ä"]}),
        ("application/problem+json; charset=utf-8", b"[]", []),
        ("application/json", b"{broken", "{broken"),
        ("text/csv", b"a,b\r\n1,2", "a,b\r\n1,2"),
        ("application/xml", b"<a/>", "<a/>"),
        ("TEXT/PLAIN", b"\xff", "\ufffd"),
        ("application/octet-stream", b"plain", b"plain"),
        ("image/svg+xml", b"<svg/>", b"<svg/>"),
        ("", b"", b""),
    ],
)
async def test_what_is_read_of_a_file(doorward_host: Any, type: str, content: bytes, value: Any) -> None:
    """JSON is its value, text a str, anything else bytes, by the file's type alone."""
    async with doorward_host.gateway(CONFIG) as gate:
        kept = await gate.artefacts.keep(gate.artefacts.made(content, type), "local")
        handle = {"artefact": kept.uri, "type": type, "bytes": len(content)}
        assert await gate.call("doorward.read", {"file": handle}) == value


async def test_what_needs_no_reading_is_read_as_it_is(doorward_host: Any) -> None:
    """Text and JSON that a function answered instead of a file; a line of text may be a path, so a note says what
    happened."""
    async with doorward_host.gateway(CONFIG) as gate:
        for value in ("a\nb", [1], {"a": 1}, 7, False, b"x"):
            read = await gate.execute(f"await doorward.read({value!r}) == {value!r}")
            assert (read.value, read.notes) == (True, ())
        (note,) = (await gate.execute("await doorward.read('report.csv')")).notes
        assert "no handle of a file" in note


async def test_data_that_looks_like_a_handle_is_data(doorward_host: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """An upstream's JSON is read, handed on and returned as what it is; what a program makes up itself is refused."""
    false = {"artefact": "doorward://results/none", "type": "text/csv", "bytes": 3}
    sent: list[Any] = []

    async def answer(_: Any, call: Call) -> Any:
        sent.append(call.arguments["place"])
        return {"file": false}

    monkeypatch.setattr(Weather, "call", answer)
    async with doorward_host.gateway(CONFIG) as gate:
        found = await gate.execute(
            "answer = await weather.big(place='x')\nawait weather.big(place=answer['file'])\n"
            "result = [await doorward.read(answer['file']), answer]"
        )
        assert (found.value, found.artefacts, sent) == ([false, {"file": false}], (), ["x", false])
        for code in (f"await doorward.read({false})", f"await weather.big(place={false})"):
            error = (await gate.execute(code)).error
            assert error is not None
            assert "there is no result doorward://results/none" in error.message
    assert len(sent) == 2
