"""What reviews and attacks found: one test for each, so that it stays found."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from doorward import (
    ApiError,
    Call,
    Compiled,
    Function,
    InvalidArguments,
    LimitExceeded,
    ServerError,
    Unsupported,
    hookimpl,
)
from doorward.calls.artefacts import Artefacts
from doorward.engines import MemoryStore
from doorward.secrets.scrubber import MAX_BODY_BYTES

from .conftest import CONFIG, InProcess, MemoryCache, Weather

pytestmark = pytest.mark.anyio
CANARY = "canary-in-a-document-4711"


class Telling(Weather):
    """A source whose document and errors hold what it was fetched with."""

    async def fingerprint(self) -> str:
        self.token = self.settings.token.reveal()
        if self.settings.url == "fail":
            raise ServerError(f"418 {self.token}")
        if self.settings.url == "crash":
            raise KeyError(self.token)
        return "1"

    async def compile(self) -> Compiled:
        schema = {"type": "object", "properties": {"x": {"type": "string", "description": self.token}}}
        return Compiled(
            [Function(self.name, "f", "f", f"Summary {self.token}", parameters=schema)], {"D": {"title": self.token}}
        )


@pytest.mark.parametrize("url", ["", "fail", "crash"])
async def test_compiling_reveals_nothing(
    doorward_host: Any, monkeypatch: pytest.MonkeyPatch, capfd: Any, url: str
) -> None:
    """A secret in a document, or in the error of fetching it, reaches neither agent, catalog file nor log. CONTRACT:
    AUT-12, AUT-18."""
    monkeypatch.setenv("TOKEN", CANARY)
    doorward_host.install("source", "telling", Telling)
    config = CONFIG.replace('"fake"', '"telling"') + f'token = "${{TOKEN}}"\nurl = "{url}"\n'
    async with doorward_host.gateway(config) as gate:
        seen = json.dumps(
            [await gate.list_servers(), await gate.get_functions(["weather.f"]), await gate.search_functions("summary")]
        )
    files = b"".join(
        f.read_bytes() for f in doorward_host.folder.rglob("*") if f.is_file() and f.name != "doorward.toml"
    )
    out, err = capfd.readouterr()
    assert CANARY not in seen + out + err
    assert CANARY.encode() not in files
    assert "[secret]" in (err if url == "crash" else seen), "what a defect says is for the operator alone"


@pytest.mark.slow
def test_processes_that_start_together_share_a_catalog(tmp_path: Path) -> None:
    """Six first starts at once make one catalog, which all of them see."""
    code = "import sys, pathlib, doorward_store_sqlite.catalog as s\npath = pathlib.Path(sys.argv[1])\n"
    code += "s.SqliteCatalog(path).made()\nprint(path.stat().st_ino)"
    running = [
        subprocess.Popen([sys.executable, "-c", code, str(tmp_path / "catalog.db")], stdout=subprocess.PIPE)
        for _ in range(6)
    ]
    made = [process.communicate()[0] for process in running]
    assert all(process.returncode == 0 for process in running)
    assert len(set(made)) == 1
    left = {p.name.removesuffix("-wal").removesuffix("-shm") for p in tmp_path.iterdir()}  # of two that end at once
    assert left == {"catalog.db"}


async def test_only_json_literals_are_parameters(doorward_host: Any) -> None:
    """Tuples and keys that are no text are left as they stand: kept and run again they would have changed. CONTRACT:
    CAC-02."""
    doorward_host.install("cache", "memory", MemoryCache)
    async with doorward_host.gateway(CONFIG.replace('"none"', '"memory"')) as gate:
        kept = await gate.execute('p = (1, 2)\nd = {1: "a"}\nresult = [p + (3,), d[1]]')
        assert (await gate.run_cached(kept.cache_id)).value == [[1, 2, 3], "a"]


@pytest.mark.parametrize(
    "call", ["search('x', limit='many')", "search('x', foo=1)", "describe(5)", "search('x', server=5)", "call()"]
)
async def test_wrong_arguments_of_helpers_can_be_caught(doorward_host: Any, call: str) -> None:
    """A mistake in `doorward.…()` is an error in the program, not the end of the executor. CONTRACT: DIS-07."""
    async with doorward_host.gateway(CONFIG) as gate:
        outcome = await gate.execute(
            f"try:\n    await doorward.{call}\nexcept Exception as error:\n    result = str(error)"
        )
        assert outcome.ok
        assert outcome.value


async def test_a_made_up_cursor_is_no_accident(doorward_host: Any) -> None:
    """A cursor beyond all pages finds nothing."""
    import base64

    async with doorward_host.gateway(CONFIG) as gate:
        cursor = base64.urlsafe_b64encode(b"9" * 30).decode()
        assert (await gate.search_functions("forecast", cursor=cursor))["functions"] == []


@pytest.mark.slow
async def test_size_is_checked_before_reading(doorward_host: Any) -> None:
    """Twelve megabytes of source are refused without being parsed. CONTRACT: SBX-09."""
    async with doorward_host.gateway(CONFIG) as gate:
        started = time.process_time()
        assert "bytes, more than" in (await gate.execute("x = 1\n" * 2_000_000)).error.message
        assert time.process_time() - started < 5


async def test_arguments_are_bounded(doorward_host: Any) -> None:
    """A call with millions of values is refused before anything walks them twice."""
    async with doorward_host.gateway(CONFIG) as gate:
        with pytest.raises(LimitExceeded):
            await gate.call("weather.get_forecast", {"city": ["x"] * 1_000_000})


async def test_positional_order_is_that_of_the_signature(doorward_host: Any) -> None:
    """What the agent is shown first is bound first, however the document sorts."""

    class Sorted(Weather):
        async def compile(self) -> Compiled:
            schema = {
                "type": "object",
                "properties": {"limit": {"type": "integer"}, "city": {"type": "string"}},
                "required": ["city"],
            }
            return Compiled([Function(self.name, "get", "get", parameters=schema), Function(self.name, "other", "")])

    doorward_host.install("source", "sorted", Sorted)
    async with doorward_host.gateway(CONFIG.replace('"fake"', '"sorted"')) as gate:
        assert (await gate.execute("await weather.get('Oslo', 3)")).value["city"] == "Oslo"
        assert not (await gate.execute("await doorward.call('weather.')")).ok


async def test_a_session_moves_on_to_the_next_executor(doorward_host: Any) -> None:
    """The first run of a session finds the executor that can; later ones stay there. CONTRACT: EXE-09, EXE-21."""

    class Cannot(InProcess):
        async def open(self, program: Any, *, session: bool = False) -> Any:
            sandbox = await super().open(program)

            async def run(program: Any, door: Any) -> Any:
                raise Unsupported("cannot")

            sandbox.run = run  # type: ignore[method-assign]
            return sandbox

    doorward_host.install("executor", "cannot", Cannot)
    async with doorward_host.gateway(CONFIG.replace('"inprocess"', '["cannot", "inprocess"]')) as gate:
        first = await gate.execute("x = 1", session_id="new")
        assert first.executor == "inprocess"
        assert (await gate.execute("x", session_id=first.session_id)).value == 1


async def test_waiting_for_a_slow_server_is_not_charged(
    doorward_host: Any, later: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run's time begins with the run, not with another server's first compile."""
    monkeypatch.setattr("doorward.gateway.COMPILE_WAIT_SECONDS", float("inf"))

    class Slow(Weather):
        async def compile(self) -> Compiled:
            later(60)
            return Compiled([])

    doorward_host.install("source", "slow", Slow)
    async with doorward_host.gateway(CONFIG + '[servers.other]\nsource = "slow"\n') as gate:
        assert (await gate.execute("await weather.get_forecast('Oslo')", timeout=50)).ok


async def test_printed_output_of_a_failure_is_cut_too(doorward_host: Any) -> None:
    """A failed run answers no more text than one that succeeded. CONTRACT: OUT-04."""
    async with doorward_host.gateway(CONFIG) as gate:
        outcome = await gate.execute("print('x' * 900000)\n1 / 0")
        assert len(json.dumps(asdict(outcome))) < 20_000


async def test_observers_cannot_undo_what_happened(doorward_host: Any) -> None:
    """A failing observer is logged; call and run have happened, and each run is told once, refused and cancelled ones
    included."""
    seen: list[str] = []
    times: list[float] = []

    class Failing:
        @hookimpl
        def call_finished(self, call: Any, record: Any) -> None:
            raise OSError("disk full")

        @hookimpl
        def run_finished(self, program: Any, outcome: Any) -> None:
            seen.append(outcome.error.type if outcome.error else "ok")
            times.append(outcome.ms)
            raise OSError("disk full")

    doorward_host.install("plugin", "failing", Failing())
    async with doorward_host.gateway(CONFIG.replace("plugins = []", 'plugins = ["failing"]')) as gate:
        assert (await gate.execute("await weather.get_forecast('Oslo')")).ok
        await gate.execute("n = 1", params={"n": "x"})
        await gate.run_cached("nope")
        task = asyncio.ensure_future(gate.execute("await weather.sleep()"))
        await gate.servers.source("weather").asleep.wait()
        task.cancel()
        await asyncio.wait([task])
    assert seen == ["ok", "InvalidProgram", "UnknownName", "Cancelled"]
    assert times[-1] > 0, "the time of a run that was cancelled"


def test_what_is_too_large_is_not_kept() -> None:
    """One artefact may not be larger than all of them together."""
    with pytest.raises(LimitExceeded):
        Artefacts(MemoryStore(), most=100, seconds=60).made("x" * 1000, "text/plain")


@pytest.mark.slow
async def test_alternatives_that_refer_to_one_another_do_not_stop_the_host(doorward_host: Any) -> None:
    """Checking a deep argument against a recursive schema of alternatives takes bounded time and memory."""
    args = {"type": "array", "items": {"$ref": "#/$defs/F"}}
    leaf = {"type": "object", "properties": {"op": {"enum": ["and"]}, "args": args}}
    recursive = {"oneOf": [leaf, {"type": "object", "properties": {"op": {"type": "string"}, "args": args}}]}
    dag: dict[str, Any] = {f"A{i}": {"allOf": [{"$ref": f"#/$defs/A{i + 1}"}] * 10} for i in range(12)}

    class Deep(Weather):
        async def compile(self) -> Compiled:
            schema = {
                "type": "object",
                "properties": {"f": {"$ref": "#/$defs/F"}, "a": {"$ref": "#/$defs/A0"}, "city": {"type": "string"}},
            }
            return Compiled(
                [Function(self.name, "get", "get", parameters=schema)],
                {"F": recursive, **dag, "A12": {"type": "string"}},
            )

    doorward_host.install("source", "deep", Deep)
    async with doorward_host.gateway(CONFIG.replace('"fake"', '"deep"')) as gate:
        filters: Any = {"op": "x"}
        for _ in range(40):
            filters = {"op": "and", "args": [filters]}
        started = time.process_time()
        assert await gate.call("weather.get", {"f": filters, "a": "text", "city": "Oslo"})
        with pytest.raises(InvalidArguments):
            await gate.call("weather.get", {"f": {"op": 5}, "city": "Oslo"})
        assert time.process_time() - started < 5


async def test_values_that_hold_themselves_many_times_are_refused(doorward_host: Any) -> None:
    """A value of few bytes and 2**40 parts stops nobody, as an argument of a function or of a helper."""
    async with doorward_host.gateway(CONFIG) as gate:
        for call in ("doorward.call(x)", "doorward.search(x)", "weather.get_forecast(x)"):
            outcome = await gate.execute(f"x = [1]\nfor i in range(40): x = [x, x]\nawait {call}")
            assert outcome.error.kind in ("limit", "program")


@pytest.mark.parametrize(
    "denied", ["[a-n]*.add_*", "my-api", "my-api.add_*", "mcp__my-api__add_station", "my_api.addStation"]
)
async def test_deny_knows_a_server_by_any_of_its_names(doorward_host: Any, denied: str) -> None:
    """A server that is configured with a dash is denied by that name too. CONTRACT: SEC-06."""
    config = CONFIG.replace("[servers.weather]", f'[policy]\ndeny = ["{denied}"]\n[servers.my-api]')
    async with doorward_host.gateway(config) as gate:
        outcome = await gate.execute("await doorward.call('my-api.add_station', {'city': 'x'})")
        assert "operator's policy" in outcome.error.message


async def test_one_pattern_is_not_its_letters(doorward_host: Any) -> None:
    """`functions="weather.get_*"` narrows to that, and not to its characters, one of which is a star. CONTRACT:
    SEC-06."""
    async with doorward_host.gateway(CONFIG) as gate:
        assert not (await gate.execute("await weather.add_station('x')", functions="weather.get_*")).ok


@pytest.mark.slow
async def test_many_servers_compile_at_once(doorward_host: Any) -> None:
    """Twenty servers write into one catalog at the same time, and all of them are there."""
    servers = "".join(f'[servers.s{i}]\nsource = "fake"\n' for i in range(20))
    for _ in range(3):
        async with doorward_host.gateway(CONFIG + servers) as gate:
            await gate.compile(force=True)
            assert [s for s in (await gate.list_servers())["servers"] if "broken" in s] == []
        (doorward_host.folder / "state" / "catalog.db").unlink()


async def test_half_a_surrogate_pair_costs_nobody_a_server(doorward_host: Any) -> None:
    """Text that is no Unicode, in a document or an answer, is mended and not fatal."""

    class Odd(Weather):
        async def compile(self) -> Compiled:
            return Compiled([Function(self.name, "get", "get", "half \ud800")], {"D": {"title": "\ud800"}})

        async def call(self, call: Any) -> Any:
            return {"\ud800": "\ud800"}

    doorward_host.install("source", "odd", Odd)
    async with doorward_host.gateway(CONFIG.replace('"fake"', '"odd"')) as gate:
        assert (await gate.execute("await weather.get()")).value == {"?": "?"}


def test_library_logs_show_no_variables(capfd: Any) -> None:
    """Without a configuration of structlog's, tracebacks on standard error hold no local variables."""
    from doorward.host.logs import log

    hidden = CANARY
    try:
        raise ValueError("boom")
    except ValueError:
        log.exception("failed", length=len(hidden))
    out, err = capfd.readouterr()
    assert out == ""
    assert "boom" in err
    assert CANARY not in err


async def test_numbers_and_more_encodings_are_scrubbed(doorward_host: Any) -> None:
    """A numeric key echoed as a number, upper case, wrapped base64, entities and latin-1 do not come through. CONTRACT:
    AUT-12."""
    from base64 import encodebytes

    from doorward.secrets.store import Secrets

    secrets = Secrets(environ={})
    for value in ("1234567890", "pässword-" + "x" * 80):
        secrets.remember(value)
    assert secrets.scrub_value({"n": 1234567890, "ok": 12}) == {"n": "[secret]", "ok": 12}
    long = "pässword-" + "x" * 80
    for text in (
        long.upper(),
        encodebytes(long.encode()).decode(),
        "".join(f"&#{ord(c)};" for c in long),
        long.encode().decode("latin-1"),
    ):
        assert "[secret]" in secrets.scrub(text)


class Verbose(Weather):
    """A source whose API repeats the credential where a cut would halve it."""

    async def call(self, call: Call) -> Any:
        assert self.settings.token
        token = self.settings.token.reveal()
        raise ApiError("no", status=401, body="x" * (MAX_BODY_BYTES - len(token) // 2) + token)


async def test_a_body_is_cut_behind_what_was_removed(doorward_host: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The body of an error is cut once credentials are gone from it, so that no half of one is left. CONTRACT:
    AUT-12."""
    monkeypatch.setenv("TOKEN", CANARY)
    doorward_host.install("source", "verbose", Verbose)
    async with doorward_host.gateway(CONFIG.replace('"fake"', '"verbose"') + 'token = "${TOKEN}"\n') as gate:
        with pytest.raises(ApiError) as raised:
            await gate.call("weather.fail")
    assert "canary" not in raised.value.body
    assert len(raised.value.body) < MAX_BODY_BYTES + 100


async def test_a_program_of_wrong_names_does_not_keep_the_host_busy(doorward_host: Any) -> None:
    """To find near names takes up to a second: a run that only guesses is told them a few times."""
    code = "seen = []\nfor i in range(60):\n    try:\n        await doorward.call(f'weather.get_forecas{i}')\n"
    code += (
        "    except Exception as e:\n        seen.append(e.hint)\nresult = sum('get_forecast' in hint for hint in seen)"
    )
    async with doorward_host.gateway(CONFIG) as gate:
        outcome = await gate.execute(code)
    assert outcome.ok, outcome.error
    assert 10 < outcome.value < 30
