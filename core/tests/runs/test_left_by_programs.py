"""What programs leave: values with bytes in them, files, and printed text."""

from __future__ import annotations

import base64
import json
import time
from dataclasses import asdict
from typing import Any

import pytest

from ..conftest import CONFIG

pytestmark = pytest.mark.anyio


async def test_a_value_of_many_parts_is_refused(doorward_host: Any) -> None:
    """As lists, as members, and as lists of lists; a text is one part, and kept whole."""
    async with doorward_host.gateway(CONFIG) as gate:
        for code in ("[0] * 100_001", "{str(n): n for n in range(100_001)}", "[[]] * 100_001"):
            error = (await gate.execute(code)).error
            assert error is not None
            assert error.message == "the value has more than 100,000 parts"
            assert "one text" in error.hint
        assert (await gate.execute("[0] * 99_000")).ok
        cut = await gate.execute("'a,b' * 100_001")
        assert cut.truncated is not None
        assert len((await gate.file(cut.truncated["rest"])).content) == 300_003


PNG = "b'\\x89PNG\\r\\n\\x1a\\n' + bytes(2000)"


async def test_bytes_in_a_value_are_a_file(doorward_host: Any) -> None:
    """Top-level or nested, with type, size and a name; not base64 that nobody can read. Small ones stay base64.
    CONTRACT: OUT-04."""
    async with doorward_host.gateway(CONFIG) as gate:
        alone = await gate.execute(PNG)
        assert (alone.value["type"], alone.value["bytes"], alone.value["name"]) == ("image/png", 2008, "value-1.png")
        assert len(json.dumps(asdict(alone))) < 1000
        assert (await gate.file(alone.value["artefact"])).content == eval(PNG)
        nested = await gate.execute(
            f"{{'a': [1, ({PNG}, b'%PDF-' + bytes(300))], 'b': {{b'x' * 300, b'y' * 300}}, 'c': b'abc'}}"
        )
        value = nested.value
        assert [part["type"] for part in value["a"][1]] == ["image/png", "application/pdf"]
        assert {part["type"] for part in value["b"]} == {"text/plain"}
        assert value["c"] == "YWJj"
        assert nested.notes == ("bytes in the value stand there as base64",)
        assert alone.notes == ()
        assert [a.name for a in nested.artefacts] == ["value-1.png", "value-2.pdf", "value-3.txt", "value-4.txt"]
        many = await gate.execute("[b'x' * 300] * 101")
        assert (len(many.artefacts), many.value[100]) == (100, base64.b64encode(b"x" * 300).decode())


async def test_base64_of_a_file_is_that_file(doorward_host: Any) -> None:
    """An image within an API's JSON, say; other texts stay what they are, however long."""
    async with doorward_host.gateway(CONFIG) as gate:
        encoded = f"__import__('base64').b64encode({PNG}).decode()"
        for value in (encoded, f"'data:image/png;base64,' + {encoded}"):
            outcome = await gate.execute(f"{{'data': [{value}], 'n': 1}}")
            (handle,) = outcome.value["data"]
            assert (handle["type"], handle["bytes"], len(outcome.artefacts)) == ("image/png", 2008, 1)
            assert (await gate.file(handle["artefact"])).content == eval(PNG)
        for text in (
            "iVBORw0KGgo" + "A" * 500,
            "A" * 4000,
            "iVBORw0KGgo" + "A" * 4000 + "!",
            "UEsDB" + "A" * 4001,
            "H4sI " + "A" * 4000,
        ):
            plain = await gate.execute("x", params={"x": text})
            assert (plain.value, plain.artefacts) == (text, ()), text[:20]


async def test_printed_bytes_are_short(doorward_host: Any) -> None:
    """Bytes and base64 among printed text are cut, not the text around them; all of it can be read."""
    async with doorward_host.gateway(CONFIG) as gate:
        for noise in (PNG, f"__import__('base64').b64encode({PNG})", "'ab' * 3000", "b'\\'' * 2500"):
            outcome = await gate.execute(f"print('before', {noise}, 'after')\nresult = 1")
            assert outcome.printed.startswith("before ")
            assert " after\n" in outcome.printed
            assert len(outcome.printed) < 500
            how = outcome.printed.rpartition("in a program: ")[2]
            whole = (await gate.file(how.split('"')[1])).content.decode()
            assert (len(whole) > 2000, whole[-7:]) == (True, " after\n")
            failed = await gate.execute(f"raise ValueError('before', {noise}, 'after')")
            assert failed.error is not None
            assert ("'before', " in failed.error.message, "'after')" in failed.error.message) == (True, True)
            assert len(failed.error.message) < 500
        words = "a few words, " * 1000
        assert (await gate.execute(f"print('{words}')")).printed == words + "\n"


@pytest.mark.slow
@pytest.mark.parametrize("text", ["x" * 1999 + " ", "b'" * 2, "b'\"", "b'" + "\\" * 2, "b'x", "a" * 10**6])
def test_odd_printed_text_is_shortened_in_little_time(text: str) -> None:
    """Whatever a program prints: time grows with its length, not with the square of that."""
    from doorward.runs.outcomes import shortened

    def seconds(size: int) -> float:
        whole = (text * (size // len(text) + 1))[:size]
        start = time.process_time()
        shortened(whole)
        return time.process_time() - start

    assert min(seconds(2**20) for _ in range(3)) < 100 * max(min(seconds(2**16) for _ in range(3)), 0.001)


async def test_what_only_passed_by_is_not_listed(doorward_host: Any) -> None:
    """A download that a program used stands neither in the answer nor among its images; one that its value names does,
    handle or URI."""
    async with doorward_host.gateway(CONFIG) as gate:
        passed = await gate.execute("x = await weather.raw(map=True)\nresult = x['bytes']")
        assert (passed.value, passed.artefacts) == (2, ())
        failed = await gate.execute("x = await weather.raw(map=True)\n1 / 0")
        assert failed.artefacts == ()
        for value in ("{'of': [x]}", "x['artefact']", "{'of': x['artefact']}", "[x, x]"):
            named = await gate.execute(f"x = await weather.raw(map=True)\nresult = {value}")
            (artefact,) = named.artefacts
            assert artefact.type == "image/png"
        other = await gate.execute(f"'{artefact.uri}'", principal="mallory")
        assert other.artefacts == ()
        assert (await gate.execute("'doorward://results/none'")).artefacts == ()


async def test_a_credential_in_bytes_is_withheld(doorward_host: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where they would be kept as a file, in which nobody looks at once."""
    monkeypatch.setenv("TOKEN", "canary-" + "4711-s3cr3t")
    async with doorward_host.gateway(CONFIG + 'token = "${TOKEN}"\n') as gate:
        await gate.execute("await weather.echo_token()")
        for value in ("x.encode()", "[{'deep': b'y' * 400 + x.encode()}]", "{b'z' * 400 + x.encode()}"):
            outcome = await gate.execute(f"x = '-'.join(['canary', '4711', 's3cr3t'])\n{value}")
            assert outcome.error is not None
            assert outcome.error.type in ("SecretWithheld", "LimitExceeded")
            assert not outcome.artefacts
