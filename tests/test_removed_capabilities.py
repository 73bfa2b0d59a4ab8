"""Removing a capability loosens nothing: what the configuration asks of it is refused, with what to install."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from doorward import ConfigError, DoorwardError
from doorward.configuration import Index, installed, load_config
from doorward_testing import Cli, Host
from doorward_testing.samples import CONFIG

pytestmark = pytest.mark.anyio


class Capability(NamedTuple):
    """A distribution, and what a configuration may ask of it: by a table, by a variable, by a key of a server, by the
    name of its plugin, by a command."""

    distribution: str
    table: str = ""
    variable: tuple[str, str] = ("", "")
    server_key: str = ""
    plugin: str = ""
    command: str = ""


CAPABILITIES = [
    Capability(
        "doorward-policy-rules",
        '[[policy.rules]]\nmatch = "other"\nthen = "deny"\n',
        ("DOORWARD_POLICY__DEFAULT", "allow"),
        command="policy explain",
    ),
    Capability(
        "doorward-approvals",
        "[approvals]\nlogin = true\n",
        ("DOORWARD_APPROVALS__LOGIN", "true"),
        plugin="approvals",
        command="approvals",
    ),
    Capability(
        "doorward-budgets",
        "[[budgets]]\ncalls = 100\n",
        ("DOORWARD_BUDGETS", '[{"calls": 100}]'),
        "price = 1",
        "budgets",
        "budgets",
    ),
    Capability(
        "doorward-notify",
        '[notify.ops]\nkind = "email"\nhost = "x"\nsender = "a"\nto = ["b"]\n',
        ("DOORWARD_NOTIFY", '{"ops": {"kind": "email", "host": "x", "sender": "a", "to": ["b"]}}'),
        plugin="notify",
    ),
    Capability(
        "doorward-triggers",
        '[triggers.nightly]\nprincipal = "local"\nprogram = "p"\nschedule = "0 3 * * *"\n',
        (
            "DOORWARD_TRIGGERS",
            '{"nightly": {"principal": "local", "program": "p", "schedule": "0 3 * * *"}}',
        ),
        plugin="triggers",
        command="triggers",
    ),
    Capability(
        "doorward-pins",
        '[pins]\nallow = ["text"]\n',
        ("DOORWARD_PINS__FILE", "doorward.lock"),
        plugin="pins",
        command="pins",
    ),
    Capability(
        "doorward-provenance",
        "[provenance]\nminutes = 60\n",
        ("DOORWARD_PROVENANCE__MINUTES", "60"),
        plugin="provenance",
        command="provenance",
    ),
    Capability(
        "doorward-console",
        "[console]\nself_approval = true\n",
        ("DOORWARD_CONSOLE__LINK", "true"),
        plugin="console",
    ),
    Capability(
        "doorward-registry",
        server_key=f'registry = {{ name = "a/b", version = "1", sha256 = "{"0" * 64}", source = "x" }}',
        command="outdated",
    ),
    Capability("doorward-compat", plugin="compat"),
    Capability("doorward-program-helpers", plugin="program_helpers"),
    Capability("doorward-skills", server_key='skills = "guide.md"', plugin="skills"),
    Capability("doorward-corrections", server_key='optional = ["add_station.city"]', plugin="corrections"),
    Capability("doorward-corrections", server_key='extra = "allow"'),
    Capability("doorward-cache-sqlite", plugin="kept_programs"),
    Capability("doorward-observed", plugin="observed"),
    Capability("doorward-enhance", plugin="enhance", command="compile --enhance"),
    Capability(
        "doorward-durable-runs",
        '[runs]\ndurable = "always"\n',
        ("DOORWARD_RUNS__DURABLE", "always"),
        'undo.add_station = { call = "fail" }',
        "runs",
        "runs",
    ),
    Capability(
        "doorward-durable-runs",
        "[plans]\nenabled = true\n",
        ("DOORWARD_PLANS__ENABLED", "true"),
        plugin="plans",
        command="runs",
    ),
    Capability("doorward-durable-runs", plugin="undo"),
    Capability(
        "doorward-search",
        "[search]\nlearn = false\n",
        ("DOORWARD_SEARCH__LEARN", "false"),
        plugin="search",
        command="learned",
    ),
    Capability("doorward-search", variable=("DOORWARD_SEARCH_VIEW", "[]")),
    Capability("doorward-observers", "[observers]\n", ("DOORWARD_OBSERVER_FAIL", "closed"), plugin="observers"),
    Capability("doorward-observers", variable=("DOORWARD_OBSERVER", "[]")),
    Capability("doorward-mcp-server", "[http]\nport = 1\n", ("DOORWARD_HTTP__PORT", "1"), command="serve"),
    Capability("doorward-mcp-server", '[clients."*"]\noutput = "json"\n', ("DOORWARD_OUTPUT", "json")),
    Capability("doorward-dist", command="dist"),
    Capability("doorward-text", plugin="text"),
]


@pytest.fixture(params=CAPABILITIES, ids=lambda each: each.distribution)
def capability(request: pytest.FixtureRequest) -> Capability:
    found: Capability = request.param
    return found


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def index(host: Host, without: str = "") -> Index:
    """What is installed here, one distribution aside."""
    further = [entry for entry in installed() if entry.distribution != without and entry not in host.entries]
    return Index([*host.entries, *further])


def asked(capability: Capability) -> dict[str, tuple[str, dict[str, str]]]:
    """What a configuration asks of it, each with the environment, where it stops the start."""
    asks = {
        "table": (CONFIG + capability.table, {}),
        "variable": (CONFIG, dict([capability.variable])),
        "plugin": (CONFIG.replace("plugins = []", f'plugins = ["{capability.plugin}"]'), {}),
    }
    return {name: each for name, each in asks.items() if getattr(capability, name) not in ("", ("", ""))}


def priced(capability: Capability) -> str:
    """A configuration with its key of a server, and a second server without."""
    return f'{CONFIG}{capability.server_key}\n[servers.other]\nsource = "fake"\n'


async def test_a_start_is_refused(doorward_host: Host, capability: Capability) -> None:
    """By its table, a variable for that, and its name in `plugins`; with it installed, all of them start."""
    for name, (text, environ) in asked(capability).items():
        async with doorward_host.gateway(text, index=index(doorward_host), environ=environ) as gate:
            assert await gate.call("weather.get_forecast", {"city": "Oslo"}), name
        with pytest.raises(ConfigError) as told:
            async with doorward_host.gateway(
                text, index=index(doorward_host, capability.distribution), environ=environ
            ):
                pass
        assert f"pip install {capability.distribution}`" in f"{told.value} {told.value.hint}", name


@pytest.mark.parametrize(
    "capability", [each for each in CAPABILITIES if each.server_key], ids=lambda each: each.distribution
)
async def test_a_server_is_out_of_use(doorward_host: Host, capability: Capability) -> None:
    """By its key; the other servers serve."""
    if not capability.server_key:
        return
    text = priced(capability)
    async with doorward_host.gateway(text, index=index(doorward_host)) as gate:
        assert await gate.call("weather.get_forecast", {"city": "Oslo"})
    async with doorward_host.gateway(text, index=index(doorward_host, capability.distribution)) as gate:
        await gate.ready()
        assert f"pip install {capability.distribution}`" in str(gate.servers.broken["weather"])
        with pytest.raises(DoorwardError, match="weather"):
            await gate.call("weather.get_forecast", {"city": "Oslo"})
        assert await gate.call("other.get_forecast", {"city": "Oslo"})


@pytest.mark.parametrize(
    "capability", [each for each in CAPABILITIES if each.command], ids=lambda each: each.distribution
)
def test_its_command_says_what_to_install(
    cli: Cli, doorward_host: Host, capability: Capability, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody guesses."""
    found: Any = index(doorward_host, capability.distribution)
    monkeypatch.setattr("doorward.config.layers.find_index", lambda: found)
    ended = cli(*capability.command.split())
    assert (ended.code, f"pip install {capability.distribution}" in ended.err) == (2, True), ended.err


def test_no_lock_is_forgotten(doorward_host: Host, cli: Cli, distro: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without what keeps the locks of a distribution nothing starts, whether it is there or only expected; with it they
    hold."""
    distro("[locked.limits]\ntimeout = 9\n")
    with pytest.raises(ConfigError, match=r"acme-distro 1\.2 locks it to 9"):
        load_config(doorward_host.write(CONFIG + "[limits]\ntimeout = 60\n"))
    without = [entry for entry in installed() if entry.distribution != "doorward-dist"]
    monkeypatch.setattr("doorward.config.layers.installed", lambda: without)
    file = doorward_host.write(CONFIG)
    for what in ("acme-distro 1.2", "DOORWARD_DISTRO"):
        with pytest.raises(ConfigError, match=f"^{what} means nothing without doorward-dist") as told:
            load_config(file)
        assert told.value.hint == "pip install doorward-dist"
        for words in (("list",), ("call", "weather.get_forecast", "city=Oslo"), ("compile",)):
            ended = cli(*words)
            assert (ended.code, "pip install doorward-dist" in ended.err) == (2, True), ended
        assert what in cli("--version").out
        without[:] = [entry for entry in without if entry.kind != "distribution"]
        monkeypatch.setenv("DOORWARD_DISTRO", "acme")


async def test_what_a_person_has_to_approve_of_is_refused(doorward_host: Host) -> None:
    """By a rule that says `confirm`, whether nobody asks because it is not installed or because it is not in use; the
    other calls are made."""
    text = CONFIG + '[[policy.rules]]\nclass = "write"\nthen = "confirm"\n'
    without = index(doorward_host, "doorward-approvals")
    for config, installed_here in ((text, without), (f"capabilities = []\n{text}", index(doorward_host))):
        async with doorward_host.gateway(config, index=installed_here) as gate:
            assert await gate.call("weather.get_forecast", {"city": "Oslo"})
            with pytest.raises(
                DoorwardError, match=r"needs a person's approval \(\[\[policy.rules\]\] 1\), and nothing here asks"
            ) as refused:
                await gate.call("weather.add_station", {"city": "Oslo"})
            assert "pip install doorward-approvals" in (refused.value.hint or "")
            outcome = await gate.execute("await weather.add_station(city='Oslo')")
            assert (outcome.waiting, outcome.error and outcome.error.type) == (None, "Refused")


def stored_runs(state: Path) -> list[Any]:
    """What is stored of runs."""
    with closing(sqlite3.connect(state / "store.db")) as db:
        rows = db.execute("SELECT content FROM entries UNION ALL SELECT value FROM records WHERE kind = 'runs'")
        return rows.fetchall()


async def test_what_would_be_stored_is_refused(doorward_host: Host) -> None:
    """A plan, and a run that would have to wait; a run that is stored is left as it is."""
    text = CONFIG + '[[policy.rules]]\nclass = "write"\nthen = "confirm"\n'
    code = "await weather.add_station(city='Oslo')"
    async with doorward_host.gateway(text, index=index(doorward_host)) as gate:
        waits = await gate.execute(code)
        assert waits.waiting is not None
    before = stored_runs(gate.state)
    without = index(doorward_host, "doorward-durable-runs")
    for config, installed_here in ((text, without), (f'capabilities = ["approvals"]\n{text}', index(doorward_host))):
        async with doorward_host.gateway(config, index=installed_here) as gate:
            planned = await gate.execute(code, mode="plan")
            assert planned.error is not None
            assert "pip install doorward-durable-runs" in (planned.error.hint or "")
            for seconds in (2, 20, 200):  # for which it waits for an answer from elsewhere, once it has come there
                outcome = await gate.execute(code, timeout=seconds)
                if outcome.error and outcome.error.type != "TimeoutError":
                    break
            assert (outcome.waiting, outcome.error and outcome.error.type) == (None, "Refused")
            assert (await gate.execute("await weather.get_forecast(city='Oslo')")).ok
    assert stored_runs(gate.state) == before != []


async def test_a_helper_says_what_to_install(doorward_host: Host) -> None:
    """Programs call functions by their names; who asks for more hears what brings it."""
    without = index(doorward_host, "doorward-program-helpers")
    async with doorward_host.gateway(CONFIG, index=without) as gate:
        called = "await doorward.call('weather.get_forecast', {'city': 'Oslo'})"
        for code in ("await weather.get_forecast(city='Oslo')", called):
            assert (await gate.execute(code)).value["high"] == 20.5
        for helper in ("search", "read", "pages"):
            error = (await gate.execute(f"await doorward.{helper}('x')")).error
            assert error is not None
            assert (error.type, error.message) == ("UnknownName", f"doorward.{helper} is not in use here")
            assert "pip install doorward-program-helpers`" in (error.hint or "")
        (card,) = await gate.get_functions(["doorward.pages"])
        assert "pip install doorward-program-helpers`" in card["error"]


async def test_without_texts_everything_is_plain(doorward_host: Host) -> None:
    """Functions are found, shown and called; a mistake says where it is; secrets stay hidden."""
    secret = "canary-" + "4711-s3cr3t"
    text, without = CONFIG + 'token = "${TOKEN}"\n', index(doorward_host, "doorward-text")
    async with doorward_host.gateway(text, index=without, environ={"TOKEN": secret}) as gate:
        found = await gate.search_functions("forecast for a city")
        assert found["functions"][0]["function"] == "weather.get_forecast"
        (card, missing) = await gate.get_functions(["weather.get_forecast", "weather.get_forecast#City"])
        assert card["signature"] == "weather.get_forecast(city: string, days?: integer)"
        assert card["import"] == "from weather import get_forecast"
        assert "The forecast for a city" in card["text"]
        assert "error" in missing
        assert (await gate.execute("await weather.get_forecast(city='Oslo')")).value["high"] == 20.5
        wrong = (await gate.execute("await weather.get_forecast(city=5)")).error
        assert wrong is not None
        assert "weather.get_forecast argument city: " in wrong.message
        assert card["signature"] in (wrong.hint or "")
        for code in ("x = await weather.echo_token()\nprint(x)\nresult = x", "await weather.fail()"):
            outcome = str(await gate.execute(code))
            assert secret not in outcome
            assert "[secret]" in outcome
