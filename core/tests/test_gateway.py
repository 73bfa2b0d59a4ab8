"""The façade: what users of the library, the MCP server and the CLI all call."""

from __future__ import annotations

import asyncio
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import anyio
import pytest
from doorward import ConfigError, Finding, Outcome, PluginError, UnknownName, hookimpl
from doorward.catalog.catalog import Catalog
from doorward.gateway import Gateway
from doorward_store_sqlite.catalog import SqliteCatalog

from .conftest import CONFIG, InProcess, Weather

pytestmark = pytest.mark.anyio
CALL = "result = await weather.get_forecast(city='Oslo')"


async def test_discover_and_run(doorward_host: Any) -> None:
    """List, search, get, execute: the main job in one place. CONTRACT: DIS-01, DIS-02, DIS-03, DIS-08, EXE-01,
    EXE-04."""
    async with doorward_host.gateway(CONFIG) as gate:
        servers = await gate.list_servers()
        assert servers["servers"][0]["name"] == "weather"
        assert "get_forecast" in servers["servers"][0]["first"]
        found = await gate.search_functions("forecast for a town or city")
        assert found["functions"][0]["function"] == "weather.get_forecast"
        card = (await gate.get_functions(["weather.getForecast"]))[0]
        assert card["import"] == "from weather import get_forecast"
        assert "city: str" in card["text"]
        outcome = await gate.execute(CALL)
        assert outcome.value == {"city": "Oslo", "high": 20.5}
        assert outcome.calls[0] | {"ms": 0} == {"function": "weather.get_forecast", "ok": True, "count": 1, "ms": 0}


async def test_user_errors_are_not_wrapped(doorward_host: Any) -> None:
    """What the body of `async with Gateway.open()` raises comes out as it is."""
    with pytest.raises(ZeroDivisionError):
        async with doorward_host.gateway(CONFIG):
            1 / 0  # noqa: B018


async def test_the_environment_may_be_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`environ` is taken for the variables of the process, which then count for nothing."""
    (tmp_path / "doorward.toml").write_text('state = "${FOLDER}"\nplugins = []\n')
    monkeypatch.setenv("FOLDER", "theirs")
    monkeypatch.setenv("DOORWARD_SURFACE", "minimal")
    async with Gateway.open(tmp_path / "doorward.toml", environ={"FOLDER": "ours"}, compile=False) as gate:
        assert (gate.config.state, gate.config.surface) == (Path("ours"), "standard")


async def test_one_broken_server_never_stops_the_others(doorward_host: Any) -> None:
    """Unknown key, missing variable, missing plugin, same name twice: each is told, and the rest serves. CONTRACT:
    OBS-03, OUT-05."""
    config = CONFIG + (
        '[servers.a]\nsource = "fake"\nverion = 2\n'
        '[servers.b]\nsource = "fake"\nurl = "${NOT_SET}"\n'
        '[servers.c]\nsource = "nosuch"\n'
        '[servers.d]\nsource = "fake"\n[servers.d]\nsource = "fake"\n'
    )
    async with doorward_host.gateway(config) as gate:
        told = {s["name"]: s.get("broken", "") for s in (await gate.list_servers())["servers"]}
        assert "did you mean 'version'" in told["a"]
        assert "[servers.a]" in told["a"]
        assert "${NOT_SET} has no value" in told["b"]
        assert "no source named 'nosuch'" in told["c"]
        assert "given twice" in told["d"]
        assert (await gate.execute(CALL)).ok


async def test_arguments_are_checked_before_the_call(doorward_host: Any) -> None:
    """A wrong argument never reaches the API; the hint has what is right. CONTRACT: SEC-10."""
    async with doorward_host.gateway(CONFIG) as gate:
        for code, said in [
            ("await weather.get_forecast(town='x')", "'town' was unexpected"),
            ("await weather.get_forecast()", '"city" is a required property'),
            ("await weather.get_forecast(city=3)", "argument city"),
            ("await weather.get_forecast('a', city='b')", "two values for 'city'"),
            ("await weather.get_forecast('a', 1, 2)", "takes 2 arguments"),
        ]:
            error = (await gate.execute(code)).error
            assert error is not None
            assert said in error.message
            assert "city: string" in (error.hint or "")


async def test_errors_of_an_upstream(doorward_host: Any) -> None:
    """An API's error is an exception in the program; uncaught it ends the run as the server's fault. CONTRACT:
    EXE-19."""
    async with doorward_host.gateway(CONFIG) as gate:
        outcome = await gate.execute("print('before')\nawait weather.fail()")
        assert outcome.error is not None
        assert (outcome.error.kind, outcome.error.type, outcome.error.line) == ("server", "ApiError", 2)
        assert outcome.printed == "before\n"
        assert outcome.error.frames[0].source == "await weather.fail()"
        crashed = (await gate.execute("await weather.crash()")).error
        assert crashed is not None
        assert "failed in source 'fake' of test-plugin 1.0: KeyError" in crashed.message


async def test_secrets_do_not_come_back(doorward_host: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What an API echoes of a credential is removed from values, keys, errors, bytes and printed text. CONTRACT:
    AUT-12, AUT-17."""
    monkeypatch.setenv("TOKEN", "canary-" + "4711-s3cr3t")
    async with doorward_host.gateway(CONFIG + 'token = "${TOKEN}"\n') as gate:
        outcomes = [
            await gate.execute("x = await weather.echo_token()\nprint(x)\nresult = x"),
            await gate.execute("await weather.fail()"),
            await gate.execute("x = await weather.raw()\nresult = x"),
        ]
        text = "".join(json.dumps(asdict(o), default=str) for o in outcomes)
        assert "4711-s3cr3t" not in text
        assert "[secret]" in text
        page = await gate.result(outcomes[2].artefacts[0].uri)
        assert b"4711" not in page.content


async def test_what_a_source_knows_of_bytes_stands_in_their_handle(
    doorward_host: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A Reply's media type and (scrubbed) file name; plain bytes have neither."""
    monkeypatch.setenv("TOKEN", "canary-4711")
    async with doorward_host.gateway(CONFIG + 'token = "${TOKEN}"\n') as gate:
        outcome = await gate.execute("a = await weather.raw(map=True)\nb = await weather.raw()\nresult = [a, b]")
        image, raw = outcome.value
        assert (image["type"], image["bytes"], image["name"]) == (
            "image/png",
            len(b"\x00\x01[secret]"),
            "map-[secret].png",
        )
        assert (raw["type"], "name" in raw) == ("application/octet-stream", False)
        assert (await gate.result(image["artefact"])).type == "image/png"


async def test_limits(doorward_host: Any) -> None:
    """Time, calls, code, rate and timeout are bounded, and each says so. CONTRACT: SBX-07, SBX-08, SBX-09, SEC-09."""
    limits = "[limits]\ncalls = 3\ncode = 200\nrate = 12\noutput = 100\n"
    async with doorward_host.gateway(CONFIG + limits) as gate:
        for seconds in (0.1, 1, 10, 100):  # on a busy machine the time may be over before anything runs
            late = await gate.execute("x = 1\nawait weather.sleep()", timeout=seconds)
            assert late.error is not None
            if "waited for" in late.error.message:
                break
        assert (late.error.kind, late.error.line) == ("limit", 2)
        assert f"took more than {seconds:g} s, while it waited for weather.sleep" in late.error.message
        many = await gate.execute("for i in range(5): await weather.get_forecast('x')")
        assert "may make 3 calls" in many.error.message
        assert (await gate.execute("x" * 201)).error.kind == "guard"
        assert "at most 300" in (await gate.execute("1", timeout=1e6)).error.message
        loud = await gate.execute("print('y' * 1000)")
        assert "the rest was dropped" in loud.printed
        assert len(loud.printed) < 300
        for _ in range(12):
            last = await gate.execute("1")
        assert "12 runs a minute" in last.error.message


async def test_caller_narrows_but_never_widens(doorward_host: Any) -> None:
    """The operator's policy wins over the `functions` of a run; wildcards work. CONTRACT: SEC-06, DIS-18."""
    async with doorward_host.gateway(CONFIG + '[policy]\ndeny = ["weather.add_*"]\n') as gate:
        assert (await gate.execute(CALL, functions=["weather.get_*"])).ok
        assert (await gate.execute(CALL, functions=["mcp__weather__*"])).ok
        refused = await gate.execute(CALL, functions=["weather.fail"])
        assert (refused.error.kind, "not among the `functions`" in refused.error.message) == ("policy", True)
        denied = await gate.execute("await doorward.call('weather.add_station', city='x')", functions=["*"])
        assert "operator's policy" in denied.error.message


@pytest.mark.parametrize(
    ("setting", "names"),
    [
        ("read_only = true", ["get_forecast", "sleep", "big", "raw"]),
        ('include = ["get*", "tag:admin"]', ["get_forecast", "add_station"]),
        ('include = ["GET /**"]', ["get_forecast"]),
        ('exclude = ["addStation", "[c-z]*", "big"]', []),
    ],
)
async def test_server_narrows_its_functions(doorward_host: Any, setting: str, names: list[str]) -> None:
    """read_only, include and exclude leave functions out of the catalog. CONTRACT: SRC-05, SEC-15, SRC-11."""
    async with doorward_host.gateway(CONFIG + setting) as gate:
        assert list(gate.catalog.names("weather") if await gate.list_servers() else ()) == names


@pytest.mark.parametrize(
    ("setting", "name", "key"),
    [
        ("read_only = true", "weather.add_station", "read_only"),
        ("read_only = true", "weather.addStation", "read_only"),
        ('include = ["get*"]', "weather.sleep", "include"),
        ('exclude = ["get*"]', "weather.get_forecast", "exclude"),
        ('exclude = ["get*"]', "weather.get_forecasts", ""),
    ],
)
async def test_what_a_server_leaves_out_is_said_to_be_left_out(
    doorward_host: Any, setting: str, name: str, key: str
) -> None:
    """Who asks for a function that is left out hears by which key; not where policy denies it anyway."""
    said = f"is left out by `{key}` of [servers.weather]"
    async with doorward_host.gateway(CONFIG + setting) as gate:
        with pytest.raises(UnknownName) as raised:
            await gate.call(name)
        assert (said in str(raised.value)) is bool(key)
    async with doorward_host.gateway(f'{CONFIG}{setting}\n[policy]\ndeny = ["weather.*"]') as gate:
        with pytest.raises(UnknownName) as raised:
            await gate.call(name)
        assert "left out" not in str(raised.value)


@pytest.mark.slow
async def test_compile_is_incremental(doorward_host: Any) -> None:
    """Nothing changed, nothing compiled; a changed document or setting is seen, `force` always compiles. CONTRACT:
    SRC-12, SRC-13."""
    Weather.compiles = 0
    for config, compiles in [(CONFIG, 1), (CONFIG, 1), (CONFIG + "read_only = true", 2), (CONFIG + "version = 2", 3)]:
        async with doorward_host.gateway(config) as gate:
            await gate.list_servers()
            await gate.compile()
        assert Weather.compiles == compiles
    async with doorward_host.gateway(config, compile=False) as gate:
        report = (await gate.compile(force=True))["weather"]
        assert (report.functions, report.skipped[0]["where"]) == (8, "GET /odd")
        await gate.compile(force=True, dry_run=True)
    assert Weather.compiles == 5


async def test_params_of_execute(doorward_host: Any) -> None:
    """`params` set top-level variables, declared or not; a name that is none is refused. CONTRACT: EXE-01."""
    async with doorward_host.gateway(CONFIG) as gate:
        assert (await gate.execute("n = 1\nn + k", params={"n": 2, "k": 3})).value == 5
        assert (await gate.execute("\ufeffn = 1\r\nn", params={"n": 2})).value == 2
        assert not (await gate.execute("n = 1", params={"n": "x"})).ok
        assert not (await gate.execute("1", params={"a b": 1})).ok
        misspelt = (await gate.execute("city = 'Oslo'\ncity", params={"citty": "Rome"})).error
        assert misspelt.message == "the program has no parameter 'citty'; did you mean 'city'?"
        assert misspelt.hint == "Its parameters: city: string."
        has_none = (await gate.execute("1", params={"city": "Rome"})).error
        assert has_none.hint == "It has none: leave it out, or read city in the program."


async def test_sessions(doorward_host: Any) -> None:
    """State is kept in a session only, for its principal only, and bounded in number. CONTRACT: EXE-09, EXE-10."""
    async with doorward_host.gateway(CONFIG + "[limits]\nsessions = 2\n") as gate:
        first = await gate.execute("x = 40", session_id="new")
        assert (await gate.execute("x + 2", session_id=first.session_id)).value == 42
        assert (await gate.execute("x")).error.type == "NameError"
        assert (await gate.execute("x", session_id=first.session_id, principal="mallory")).error.type == "UnknownName"
        await gate.execute("1", session_id="new")
        assert "2 sessions are open" in (await gate.execute("1", session_id="new")).error.message
        for seconds in (0.05, 1, 10, 50):  # on a busy machine the time may be over before anything runs
            dead = await gate.execute("await weather.sleep()", session_id=first.session_id, timeout=seconds)
            if not dead.session_id:
                break
        assert dead.session_id == ""
        assert (await gate.execute("x", session_id=first.session_id)).error.type == "UnknownName"


async def test_large_values_are_cut_with_a_handle(doorward_host: Any) -> None:
    """An oversized value says its shape and size and is paged from its handle. CONTRACT: OUT-04."""
    async with doorward_host.gateway(CONFIG) as gate:
        outcome = await gate.execute("await weather.big()")
        assert outcome.truncated["shape"] == "list[2000] of dict with id, name"
        assert len(json.dumps(outcome.value)) < 40_000
        uri, text = outcome.truncated["rest"], ""
        while uri:
            page = await gate.result(uri)
            text, uri = text + page.content, page.next
        assert len(json.loads(text)) == 2000
        with pytest.raises(UnknownName):
            await gate.result(outcome.truncated["rest"], principal="mallory")


@pytest.mark.parametrize(
    ("code", "told", "line"),
    [
        ("for _ in []: pass\nwhile True: pass", 2, 2),
        ("for _ in []: pass\nfor _ in [1]: pass", 99, None),
        ("for _ in []: pass\nwhile True: pass", None, 2),
        ("x = 1\nwhile True:\n    x += 1", None, 2),
        ("x = 1\n" * 3, None, None),
    ],
    ids=["told", "told wrongly", "an endless loop", "one loop", "no loop"],
)
async def test_a_run_that_is_late_names_its_line(
    doorward_host: Any, code: str, told: int | None, line: int | None
) -> None:
    """What its sandbox says, else the only line that can take time. CONTRACT: SBX-07."""

    class Endless(InProcess):
        async def open(self, program: Any, *, session: bool = False) -> Any:
            sandbox = await super().open(program, session=session)

            async def late(program: Any, door: Any) -> Any:
                if told:
                    door.at(told)
                await anyio.sleep_forever()

            sandbox.run = late
            return sandbox

    doorward_host.install("executor", "endless", Endless)
    async with doorward_host.gateway(CONFIG.replace('"inprocess"', '"endless"')) as gate:
        late = (await gate.execute(code, timeout=0.1)).error
        assert (late.type, late.line) == ("TimeoutError", line)


async def test_moves_on_to_the_next_executor(doorward_host: Any) -> None:
    """A program goes to the first executor that can run it, and never twice after a call. CONTRACT: EXE-21."""

    class Small(InProcess):
        async def open(self, program: Any, *, session: bool = False) -> Any:
            sandbox = await super().open(program, session=session)
            run = sandbox.run

            async def small(p: Any, door: Any) -> Any:
                door.print("once" if "print" in p.code else "")
                return await run(p, door)

            sandbox.run = small
            return sandbox

    class Full(InProcess):
        async def open(self, program: Any, *, session: bool = False) -> Any:
            from dataclasses import replace

            sandbox, run = await super().open(program), None

            async def full(p: Any, door: Any) -> Any:
                return await run(replace(p, code=p.code.replace("needs full python", "")), door)

            run, sandbox.run = sandbox.run, full
            return sandbox

    doorward_host.install("executor", "small", Small)

    class Script(InProcess):
        def capabilities(self) -> Any:
            from dataclasses import replace

            return replace(super().capabilities(), languages=("javascript",))

    doorward_host.install("executor", "full", Full)
    doorward_host.install("executor", "script", Script)
    async with doorward_host.gateway(CONFIG.replace('"inprocess"', '["small", "full"]')) as gate:
        outcome = await gate.execute("'needs full python'\n2")
        assert (outcome.value, outcome.executor) == (2, "full")
        printed = (await gate.execute("'needs full python'\nprint('once')")).printed
        assert printed.strip() == "once"
    async with doorward_host.gateway(CONFIG.replace('"inprocess"', '["small"]')) as gate:
        alone = (await gate.execute("'needs full python'")).error
        assert (alone.kind, alone.line) == ("executor", 1)
    async with doorward_host.gateway(CONFIG.replace('"inprocess"', '["small", "full"]')) as gate:
        session = (await gate.execute("1", session_id="new")).session_id
        bound = (await gate.execute("'needs full python'", session_id=session)).error
        assert bound.kind == "executor"


@pytest.mark.parametrize(
    ("text", "environ", "said"),
    [
        ("[executors.inproces]\npool = 1\n", {}, ["doorward.toml [executors.inproces]", "did you mean 'inprocess'"]),
        (
            "",
            {"DOORWARD_EXECUTORS__INPROCES__POOL": "1"},
            ["DOORWARD_EXECUTORS__INPROCES__POOL", "did you mean 'inprocess'"],
        ),
        ("[executors.docker]\n", {}, ["known: inprocess", "pip install doorward-sandbox-docker"]),
    ],
)
async def test_settings_of_no_executor_are_refused(
    doorward_host: Any, text: str, environ: dict[str, str], said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A misspelt table would be a setting that nobody heeds."""
    for variable, value in environ.items():
        monkeypatch.setenv(variable, value)
    with pytest.raises(ConfigError) as error:
        async with doorward_host.gateway(CONFIG + text):
            pass
    assert all(part in f"{error.value} {error.value.hint}" for part in said), error.value


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("docker", "`pip install doorward-sandbox-docker` brings it."),
        ("nsjial", "Did you mean 'nsjail'? `pip install doorward-sandbox-nsjail` brings it."),
        ("inproces", "Did you mean 'inprocess'?"),
    ],
)
async def test_what_to_install_for_an_executor(doorward_host: Any, name: str, hint: str) -> None:
    """Ours by their distribution, others by what is installed."""
    async with doorward_host.gateway(CONFIG.replace('"inprocess"', f'["{name}"]')) as gate:
        assert hint in (await gate.execute("1")).error.hint


async def test_calls_by_name_inside_the_sandbox(doorward_host: Any) -> None:
    """`doorward.call` makes them, and says of a name that there is not which may be meant. CONTRACT: DIS-12, EXE-08."""
    async with doorward_host.gateway(CONFIG) as gate:
        outcome = await gate.execute("await doorward.call('weather.get_forecast', {'city': 'Oslo'})")
        assert outcome.value["high"] == 20.5
        assert outcome.calls[0]["function"] == "weather.get_forecast"
        assert (
            "Near: weather.get_forecast"
            in (await gate.execute("await doorward.call('weather.get_forcast')")).error.hint
        )
        caught = (
            "try:\n    await doorward.call('weather.get_forcast')\nexcept Exception as error:\n    result = str(error)"
        )
        assert (
            await gate.execute(caught)
        ).value == "there is no function 'weather.get_forcast'; did you mean 'weather.get_forecast'?"
        other = (await gate.execute("await doorward.call('wether.get_forecast')")).error
        assert other.message.startswith("there is no function 'wether.get_forecast', for there is no server 'wether'; ")
        assert "did you mean 'weather.get_forecast'?" in other.message
        assert other.hint.startswith("Servers: weather. Near: weather.get_forecast")


class Spy:
    """A hook plugin that refuses some things and notes the rest."""

    seen: list[Any]

    def __init__(self, context: Any) -> None:
        Spy.seen = []

    @hookimpl
    def guard_program(self, program: Any) -> list[Finding]:
        if "evil" in program.code:
            return [Finding("evil is not allowed", 1, "Be good.")]
        return [Finding("hm", 1, refuse=False)] if "doubt" in program.code else []

    @hookimpl
    def guard_call(self, call: Any) -> str | None:
        return "not this city" if call.arguments.get("city") == "Atlantis" else None

    @hookimpl
    def guard_result(self, call: Any, result: Any) -> str | None:
        return "too secret" if call.function.name == "raw" else None

    @hookimpl
    def call_finished(self, call: Any, record: Any) -> None:
        self.seen.append((call.function.qualified, record.ok, record.bytes_out > 0))

    @hookimpl
    def run_finished(self, program: Any, outcome: Outcome) -> None:
        self.seen.append(outcome.ok)


async def test_guards_and_observers(doorward_host: Any) -> None:
    """Guards refuse programs, calls and results; observers are told of each once. CONTRACT: SEC-01, OBS-02."""
    doorward_host.install("plugin", "spy", Spy)
    async with doorward_host.gateway(CONFIG.replace("plugins = []", 'plugins = ["spy"]')) as gate:
        refused = (await gate.execute("evil")).error
        assert (refused.kind, refused.message, refused.line, refused.hint) == (
            "guard",
            "evil is not allowed",
            1,
            "Be good. (plugin 'spy' of test-plugin 1.0)",
        )
        assert "not this city" in (await gate.execute("await weather.get_forecast(city='Atlantis')")).error.message
        assert "too secret" in (await gate.execute("await weather.raw()")).error.message
        assert (await gate.execute(f"'doubt'\n{CALL}")).notes == ("line 1: hm.",)
        assert Spy.seen == [False, ("weather.get_forecast", False, False), False, ("weather.raw", False, False), False,
                            ("weather.get_forecast", True, True), True]  # fmt: skip


class Reader:
    def __init__(self, context: Any) -> None:
        pass

    @hookimpl
    def guard_program(self, program: Any) -> list[Finding]:
        return [Finding("invalid syntax: x = = 1", 2, "Mend it.", error="SyntaxError")]


async def test_a_syntax_error_is_the_programs_whoever_finds_it(doorward_host: Any) -> None:
    """Not a refusal of the guard that reads the program first; also where parameters are bound to it."""
    doorward_host.install("plugin", "reader", Reader)
    async with doorward_host.gateway(CONFIG.replace("plugins = []", 'plugins = ["reader"]')) as gate:
        error = (await gate.execute("x = 1\nx = = 1")).error
        assert (error.kind, error.type, error.line, error.hint) == ("program", "SyntaxError", 2, "Mend it.")


@pytest.mark.parametrize("thing", [ImportError("no module named x"), type("Bad", (), {"PLUGIN_API": 99})])
async def test_a_configured_guard_that_cannot_load_stops_the_start(doorward_host: Any, thing: Any) -> None:
    """Fail closed: without a guard that is configured nothing runs."""
    doorward_host.install("plugin", "guard", thing, distribution="acme-guard")
    with pytest.raises(PluginError, match=r"acme-guard 1\.0"):
        async with doorward_host.gateway(CONFIG.replace("plugins = []", 'plugins = ["guard"]')):
            pass


async def test_top_level_mistakes_stop_the_start(doorward_host: Any) -> None:
    """A misspelt top-level key could drop a guard: it is refused, with the near name."""
    with pytest.raises(ConfigError, match="did you mean 'plugins'"):
        async with doorward_host.gateway('plugin = ["x"]'):
            pass


async def test_direct_call_takes_the_same_road(doorward_host: Any) -> None:
    """`Gateway.call` is checked like a program's call."""
    async with doorward_host.gateway(CONFIG) as gate:
        assert (await gate.call("weather.get_forecast", {"city": "Oslo"}))["high"] == 20.5
        with pytest.raises(Exception, match="city"):
            await gate.call("weather.get_forecast")


async def test_cancel_ends_the_run(doorward_host: Any) -> None:
    """A client that goes away takes its run with it."""
    async with doorward_host.gateway(CONFIG) as gate:
        running = asyncio.ensure_future(gate.execute("await weather.sleep()"))
        source = gate.servers.source("weather")
        await source.asleep.wait()
        running.cancel()
        await asyncio.wait([running])
        assert running.cancelled()
        assert not source.awake.is_set()


async def test_a_compile_of_another_process_is_seen(doorward_host: Any) -> None:
    """A served gateway shows what another process compiled, without a restart."""
    async with doorward_host.gateway(CONFIG) as gate:
        await gate.list_servers()
        other = Catalog(SqliteCatalog(gate.state / "catalog.db"))
        other.drop(["weather"])
        other.close()
        assert (await gate.search_functions("forecast"))["total"] == 0


def test_gateway_is_documented() -> None:
    """Every public method of the façade says what it does."""
    assert all(getattr(Gateway, n).__doc__ for n in dir(Gateway) if not n.startswith("_"))


@pytest.mark.anyio
async def test_a_value_that_cannot_be_kept_is_an_outcome(doorward_host: Any) -> None:
    """One larger than all that is kept, and a number as key that is too long to be text: neither raises."""
    async with doorward_host.gateway(f'{CONFIG}\n[limits]\nkept = "100KiB"'.replace("plugins = []", "")) as gate:
        outcome = await gate.execute("result = 'x' * 300_000")
        assert outcome.error is not None
        assert (outcome.error.kind, outcome.error.type) == ("limit", "LimitExceeded")
        assert (await gate.execute("result = {10 ** 5000: 1, 7: 2, True: 3}")).value == {
            "an integer of 16610 bits": 1,
            "7": 2,
            "True": 3,
        }
