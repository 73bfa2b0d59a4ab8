"""Who asks decides what is there, what may be called, and whose credentials are used."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, ClassVar

import httpx2
import pytest
from doorward import (
    Call,
    Compiled,
    ConfigError,
    DoorwardError,
    Function,
    ServerContext,
    Settings,
    Template,
    UnknownName,
)
from doorward.access.principals import Principals, Rights
from doorward.access.rate_limit import RateLimit
from doorward.calls.artefacts import Artefacts
from doorward.config.config import Server, load, module_name
from doorward.config.settings import PrincipalSettings, ServerSettings
from doorward.data.json_writing import dump
from doorward.engines import MemoryStore
from doorward.gateway import Gateway
from doorward.model.principals import LOCAL
from doorward.model.programs import Artefact, Outcome
from doorward.runs.helper_context import MODULE
from doorward.servers import source_pool
from hypothesis import given, settings
from hypothesis import strategies as st

from ..conftest import MemoryCache, Weather

pytestmark = pytest.mark.anyio

HIDDEN = ("zephyr", "siphon", "quagmire")
"""What stands in the names of a server that is not alice's, of its functions, and of what is wrong with another."""

HIDDEN_MODULES = ("zephyr_vault", "zephyr_broken", "zephyr")


class Zephyr(Weather):
    """A server that few may know of."""

    offers = (Function("", "read_siphon", "resources/read", read_only=True),)

    async def compile(self) -> Compiled:
        compiled = await super().compile()
        first, *_ = compiled.functions
        functions = [
            replace(first, name=f"siphon_{n}", id=f"siphonOf{n}", summary="Siphon a forecast") for n in ("one", "two")
        ]
        return Compiled(functions, description="The quagmire of the world")


BOTH = """
executor = "inprocess"
cache = "memory"
[servers.weather]
source = "fake"
[servers.zephyr-vault]
source = "zephyr"
expose = ["siphon_one"]
[servers.zephyr-broken]
source = "quagmire"
[principals.alice]
servers = ["weather"]
[principals.bob]
deny = ["weather.add_*"]
"""


@pytest.fixture
def place(doorward_host: Any) -> Any:
    doorward_host.install("source", "zephyr", Zephyr)
    doorward_host.install("cache", "memory", MemoryCache)
    return doorward_host


def door(gate: Gateway, principal: str) -> Any:
    return gate.execution.of_call(principal)


async def said(work: Any) -> str:
    """What comes of it, error and hint included, as text."""
    try:
        found = await work if asyncio.iscoroutine(work) else work
    except DoorwardError as error:
        return f"{error} {error.hint}"
    return dump(asdict(found) if isinstance(found, Outcome) else found).decode()


async def everything(gate: Gateway, who: str) -> list[str]:
    """All that a principal can be told who names what is there and what is not."""
    theirs = door(gate, who)
    texts = [await said(gate.list_servers(principal=who))]
    texts += [
        await said(gate.search_functions(words, principal=who))
        for words in ("", "forecast", "siphon_one", "tag:weather")
    ]
    texts += [
        await said(gate.search_functions("forecast", server=s, principal=who))
        for s in ("zephyr_vault", "zephyr-vault", "Zephyr_Vault")
    ]
    names = [
        "zephyr_vault.siphon_one",
        "zephyr_vault",
        "zephyr_vault.siphon_one#X",
        "mcp__zephyr-vault__siphonOfone",
        "weather.siphon_one",
    ]
    texts += [await said(gate.get_functions([name], principal=who)) for name in names]
    texts += [
        await said(theirs.call(name, (), {"city": "Oslo"}))
        for name in [*names, "zephyr_vault.resources/read", "zephyr_broken.x"]
    ]
    texts += [await said(gate.call(name, {"city": "Oslo"}, principal=who)) for name in names]
    texts += [await said(gate.answer(name, {"city": "Oslo"}, principal=who)) for name in names]
    codes = [
        "import zephyr_vault",
        "zephyr_vault.siphon_one()",
        "import zephyr_broken",
        "mcp__zephyr_vault.siphon_one()",
        "weather.siphon_one()",
    ]
    texts += [await said(gate.execute(code, principal=who)) for code in codes]
    texts += [
        dump(await gate.discovery.servers(who)).decode(),
        str([theirs.absent(name) for name in HIDDEN_MODULES]),
        str(theirs.members("zephyr_vault")),
        theirs.stub("zephyr_vault", ["siphon_one"]),
    ]
    given: list[tuple[Any, ...]] = [
        (),
        ("zephyr-vault",),
        ("zephyr_vault",),
        ("siphon_one",),
        ("mcp__zephyr_vault__siphon_one",),
    ]
    given += [
        ("zephyr_vault", "siphon_one"),
        ("zephyr_vault", "siphon_one", {"city": "Oslo"}),
        ("mcp__zephyr_vault__siphon_one", {}),
    ]
    for helper in gate.modules.helpers[MODULE]:
        if helper != "close_session":
            texts += [await said(theirs.call(f"doorward.{helper}", args, {})) for args in given]
    return texts


@pytest.mark.slow
async def test_a_server_that_is_not_theirs_does_not_exist(place: Any) -> None:
    """Neither listed, searched, described, imported, called, nor named by an error, a hint or a tool."""
    async with place.gateway(BOTH) as gate:
        bobs = "\n".join(await everything(gate, "bob"))
        alices = await everything(gate, "alice")
        unknown = await everything(gate, "local")
    for word in HIDDEN:
        assert word in bobs.lower()
        assert word in "\n".join(unknown).lower()
    for secret in ("quagmire", "siphon_two", "siphonoftwo", "zephyr_vault_siphon_one"):
        assert not [text for text in alices if secret in text.lower()]


@pytest.mark.slow
async def test_the_answer_is_that_of_what_is_not_there_at_all(place: Any) -> None:
    """Whoever guesses a name learns nothing: the words are those for a name that nobody has."""
    async with place.gateway(BOTH) as gate:
        for name in ("zephyr_vault.siphon_one", "zephyr_vault", "zephyr-vault.siphon_one"):
            absent = name.replace("vault", "fault")
            them = [await said(door(gate, "alice").call("doorward.call", (a,), {})) for a in (name, absent)]
            assert them[0].replace("vault", "fault") == them[1]


def _replaced(args: tuple[Any, ...], old: str, new: str) -> tuple[Any, ...]:
    return tuple(new if arg == old else arg for arg in args)


async def test_policy_of_a_principal_narrows_that_of_all(place: Any) -> None:
    """Deny wins, allow never widens, and the refusal names the rule."""
    config = (
        BOTH + '[principals.carol]\nallow = ["*"]\n[principals."*"]\nallow = ["weather.get_*"]\n[policy]\ndeny = '
        '["weather.fail"]\n'
    )
    async with place.gateway(config) as gate:
        assert (await gate.call("weather.get_forecast", {"city": "Oslo"}, principal="bob"))["city"] == "Oslo"
        for who, name, rule in [
            ("bob", "add_station", "[principals.bob] deny"),
            ("bob", "echo_token", '[principals."*"] allow'),
            ("bob", "fail", "[policy] deny"),
            ("carol", "fail", "[policy] deny"),
            ("dave", "big", '[principals."*"] allow'),
        ]:
            with pytest.raises(DoorwardError, match=r"not allowed") as refused:
                await gate.call(f"weather.{name}", {"city": "x"} if name == "add_station" else {}, principal=who)
            assert rule in str(refused.value)
        assert isinstance(await gate.call("weather.big", principal="carol"), list)


NOT_NAMES = [
    '[principals."al*"]\n',
    '[principals."a?"]\n',
    '[principals."[ab]"]\n',
    '[principals.""]\n',
    '[principals."a\\nb"]\n',
]


@pytest.mark.parametrize(
    "table", [*NOT_NAMES, '[principals."*".secrets]\ntoken = "x"\n', '[principals.a.secrets]\nname = "x"\n']
)
def test_what_cannot_be_a_principal(tmp_path: Path, table: str) -> None:
    """A pattern is no name, everyone has no secrets, and a principal's name is theirs."""
    (tmp_path / "doorward.toml").write_text(table)
    with pytest.raises(ConfigError, match="principals"):
        load(tmp_path / "doorward.toml")


def test_unknown_keys_of_a_principal_are_refused(tmp_path: Path) -> None:
    (tmp_path / "doorward.toml").write_text('[principals.alice]\nserver = ["x"]\n')
    with pytest.raises(ConfigError, match="did you mean 'servers'"):
        load(tmp_path / "doorward.toml")


def _principals(folder: Path, text: str) -> Principals:
    (folder / "doorward.toml").write_text(text)
    return Principals(load(folder / "doorward.toml"))


def test_a_pattern_that_fits_no_server_is_told(tmp_path: Path) -> None:
    """It may be misspelt; what it leaves is still served."""
    servers = '[servers.my-api]\nsource = "fake"\n[servers.off]\nsource = "fake"\ndisabled = true\n'
    told = _principals(
        tmp_path,
        servers
        + '[principals.a]\nservers = ["my_api", "my-*", "of?", "wether", "*"]\n[principals."*"]\nservers = []\n',
    )
    assert list(told.unknown()) == ["[principals.a] servers: 'wether' fits no server"]


def test_a_misspelt_server_in_any_list_is_told(tmp_path: Path) -> None:
    """What it was to deny is allowed. Upstreams, tags and routes are of any server."""
    told = _principals(
        tmp_path,
        """
[servers.my-api]
source = "fake"
[policy]
allow = ["*", "my-api.x", "mcp__my-api__x", "https://api.example.com#x", "doorward.ask"]
deny = ["my_api.*", "myapi.drop", "m?_api.y"]
[principals.a]
deny = ["my-pai.*"]
[endpoints.desk]
servers = ["my-apy"]
include = ["tag:read", "GET /users/*", "/users", "my-api"]
exclude = ["may-api.z"]
""",
    )
    assert list(told.unknown()) == [
        "[policy] deny: 'myapi.drop' fits no server",
        "[principals.a] deny: 'my-pai.*' fits no server",
        "[endpoints.desk] servers: 'my-apy' fits no server",
        "[endpoints.desk] exclude: 'may-api.z' fits no server",
    ]


def test_what_a_table_does_not_say_is_as_for_everyone(tmp_path: Path) -> None:
    """A token alone gives no more than everyone has; secrets are never anybody else's."""
    text = '[principals."*"]\nservers = ["public"]\ndeny = ["public.drop"]\n'
    text += '[principals.alice.secrets]\nkey = "k"\n[principals.bob]\nservers = ["*"]\n'
    principals = _principals(tmp_path, text)
    assert [principals.may_use(who, "private") for who in ("alice", "bob", "eve", LOCAL)] == [False, True, False, True]
    own = _principals(tmp_path, text + '[principals.local]\nservers = ["private"]\n')
    assert [own.may_use(LOCAL, server) for server in ("public", "private")] == [False, True]
    own_server = Server("own", ServerSettings(source="x", per_principal=True), {}, "")
    assert principals.secrets_of(own_server, "alice").expand("${principal:key} of ${principal:name}") == "k of alice"
    assert not own.rights(LOCAL).rules.deny.written
    assert principals.rights("bob").rules.deny.written == {"public.drop"}
    for who in ("bob", "eve", "*"):
        with pytest.raises(ConfigError, match="has no 'key'"):
            principals.secrets_of(own_server, who).expand("${principal:key}")


NAMES = st.from_regex(r"[a-z][a-z0-9_-]{0,8}", fullmatch=True).filter(lambda name: name not in ("doorward", "re", "os"))


@pytest.mark.slow
@settings(deadline=None)
@given(name=NAMES, other=NAMES, cut=st.integers(0, 8))
def test_a_server_is_meant_by_its_name_and_by_its_modules(name: str, other: str, cut: int) -> None:
    """Patterns fit the configured name and the module's alike, `-` or `_`, and nothing that they do not say."""

    def means(pattern: str, server: str) -> bool:
        rights = Rights(PrincipalSettings(servers=[pattern]), {})
        return rights.reach(module_name(server))

    for written in (
        name,
        module_name(name),
        f"{name[:cut]}*",
        f"{module_name(name)[:cut]}*",
        "*",
        name[:1] + "?" * (len(name) - 1),
    ):
        assert means(written, name)
        assert means(written, other) == means(written, module_name(other))
    assert means(name, other) == (module_name(name) == module_name(other))


class OwnSettings(Settings):
    who: Template
    folder: str = ""


class Own(Weather):
    """Each of its sources knows whose it is, and how many calls it has at once."""

    Settings = OwnSettings  # type: ignore[assignment]
    made: ClassVar[list[Own]] = []

    def __init__(self, server: ServerContext) -> None:
        super().__init__(server)
        self.state, self.changed, self.auth = server.state, server.changed, server.auth
        self.calls = 0
        self.closed = False
        self.free = asyncio.Event()
        self.free.set()
        type(self).made.append(self)

    async def fingerprint(self) -> str:
        return "always"

    async def call(self, call: Call) -> Any:
        self.calls += 1
        try:
            await self.free.wait()
            assert not self.closed
            return {"who": self.settings.who.reveal(), "user": self.auth(), "key_of_" + call.principal: 1}
        finally:
            self.calls -= 1

    async def close(self) -> None:
        assert not self.calls
        self.closed = True


class Said(str, httpx2.Auth):
    """An auth that says whose it is."""

    __slots__ = ()


class Login:
    """An auth with a login of each principal."""

    closed: ClassVar[list[str]] = []

    class Settings(Settings):
        user: str

    def __init__(self, context: Any) -> None:
        self._context = context

    def create_auth(self) -> Any:
        return Said(self._context.settings.user)

    async def check(self) -> str:
        return f"{self._context.settings.user} is logged in"

    async def close(self) -> None:
        self.closed.append(self._context.principal)


OWN = 'executor = "inprocess"\n[servers.own]\nsource = "own"\nwho = "${principal:token}"\n'
OWN += "".join(f'[principals.{who}.secrets]\ntoken = "token-of-{who}"\n' for who in ("alice", "bob"))


@pytest.fixture
def own(doorward_host: Any) -> Any:
    class Fresh(Own):
        made: ClassVar[list[Own]] = []

    doorward_host.install("source", "own", Fresh)
    doorward_host.install("auth", "login", Login)
    Login.closed.clear()
    doorward_host.own = Fresh
    return doorward_host


async def _whose(gate: Gateway, who: str) -> Any:
    return (await gate.call("own.raw", principal=who))["who"]


@pytest.mark.slow
async def test_each_has_credentials_of_their_own(own: Any) -> None:
    """One source of each principal; who has no secret is told, by name and place, and breaks nobody else."""
    async with own.gateway(OWN) as gate:
        found = await asyncio.gather(*(_whose(gate, who) for who in ("alice", "bob") * 20))
        assert found == ["[secret]", "[secret]"] * 20  # a program never sees them
        whose = {
            source.settings.who.reveal(): source for source in own.own.made if source.state.parent.name == "principals"
        }
        assert set(whose) == {"token-of-alice", "token-of-bob"}
        assert len({source.state for source in whose.values()}) == 2
        with pytest.raises(ConfigError, match="the principal 'carol' has no 'token'") as missing:
            await _whose(gate, "carol")
        assert "[principals.carol.secrets]" in str(missing.value.hint)
        assert await _whose(gate, "alice") == "[secret]"
        assert not gate.servers.broken


async def test_local_may_have_an_auth_of_its_own(own: Any) -> None:
    """What compiles a server is not what others call it with; and such an auth is for nobody where all have the
    same."""
    auths = (
        'auth = { type = "login", user = "${principal:name}" }\nlocal_auth = { type = "login", user = "compiler" }\n'
    )
    async with own.gateway(
        OWN.replace("[principals", auths + "[principals.local.secrets]\ntoken = 'token-of-local'\n[principals", 1)
    ) as gate:
        assert [(await gate.call("own.raw", principal=who))["user"] for who in ("alice", "local", "bob")] == [
            "alice",
            "compiler",
            "bob",
        ]
        assert own.own.made[0].auth() == "compiler"
    async with own.gateway(
        '[servers.own]\nsource = "own"\nwho = "all"\nlocal_auth = { type = "login", user = "compiler" }\n'
    ) as gate:
        assert "local_auth is for a server that is per_principal" in str(gate.servers.broken["own"])


@pytest.mark.parametrize("plain", ["folder = '${principal:folder}'\n", ""])
async def test_compile_needs_no_credentials_of_local(own: Any, plain: str) -> None:
    """What only calls need is not asked for by a compile; what the source itself is made with is, and the message says
    so."""
    async with own.gateway(OWN.replace("[principals", plain + "[principals", 1)) as gate:
        await gate.ready()
        if plain:
            assert "'local' has no 'folder'" in str(gate.servers.broken["own"])
            assert "[principals.local.secrets]" in str(gate.servers.broken["own"])
        else:
            assert "raw" in gate.catalog.names("own")


async def test_a_change_that_one_upstream_tells_is_compiled(own: Any) -> None:
    async with own.gateway(OWN) as gate:
        await _whose(gate, "alice")
        told: list[str] = []
        gate.servers.changed = told.append
        own.own.made[-1].changed()
        assert told == ["own"]


async def test_sources_of_principals_are_bounded_and_close_when_idle(own: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The longest unused goes first, one in use never, that of `local` stays; and with a source its auth is closed."""
    monkeypatch.setattr(source_pool, "MAX_OWN_SOURCES", 3)
    who = OWN + "".join(f'[principals.p{n}.secrets]\ntoken = "token-number-{n}"\n' for n in range(6))
    async with own.gateway(who) as gate:
        await gate.ready()
        closed: list[tuple[str, str]] = []
        monkeypatch.setattr(gate.servers._sources, "_closed", lambda *key: _append(closed, key))
        first = gate.servers.source("own")
        await _whose(gate, "p0")
        busy = own.own.made[-1]
        busy.free.clear()
        async with asyncio.TaskGroup() as group:
            waiting = group.create_task(_whose(gate, "p0"))
            await asyncio.sleep(0)
            for n in range(1, 6):
                await _whose(gate, f"p{n}")
            assert [source.closed for source in own.own.made if source is not first] == [
                False,
                True,
                True,
                True,
                False,
                False,
            ]
            assert closed == [("own", "p1"), ("own", "p2"), ("own", "p3")]
            monkeypatch.setattr(source_pool, "IDLE_SECONDS", -1.0)
            await gate.servers.sweep()
            assert not busy.closed
            assert sorted(key[1] for key in gate.servers._sources._open) == [LOCAL, "p0"]
            busy.free.set()
            await waiting
        await gate.servers.sweep()
        assert busy.closed
        assert not first.closed  # type: ignore[attr-defined]
        assert await _whose(gate, "p0") == "[secret]"
        monkeypatch.setattr(source_pool, "MAX_OWN_SOURCES", 1)
        own.own.made[-1].free.clear()
        async with asyncio.TaskGroup() as group:
            waiting = group.create_task(_whose(gate, "p0"))
            await asyncio.sleep(0)
            with pytest.raises(DoorwardError, match="in use"):
                await _whose(gate, "p1")
            own.own.made[-1].free.set()
    assert all(source.closed for source in own.own.made)


async def test_a_source_is_closed_with_its_auth(own: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was made for one is closed for one, and made anew when they come again; all at the end."""
    config = OWN.replace("[principals", 'auth = { type = "login", user = "I am ${principal:name}" }\n[principals', 1)
    async with own.gateway(config) as gate:
        users = [(await gate.call("own.raw", principal=who))["user"] for who in ("alice", "bob", "alice")]
        assert users == ["I am alice", "I am bob", "I am alice"]
        assert Login.closed == []
        monkeypatch.setattr(source_pool, "IDLE_SECONDS", -1.0)
        await gate.servers.sweep()
        assert Login.closed == ["bob", "alice"]  # the longest unused first
        assert await _whose(gate, "bob") == "[secret]"
    assert Login.closed == ["bob", "alice", "bob"]


async def test_who_comes_while_theirs_is_closed_has_a_new_one(own: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is made meanwhile is not closed with what was there before."""
    opened: list[Any] = []

    class Noting(Login):
        over = False

        def create_auth(self) -> Any:
            opened.append(self)
            return Said("it")

        async def close(self) -> None:
            self.over = True

    own.install("auth", "noting", Noting)
    config = OWN.replace("[principals", 'auth = { type = "noting", user = "u" }\n[principals', 1)
    async with own.gateway(config, compile=False) as gate:  # nothing else closes what is idle
        await gate.compile()
        await gate.call("own.raw", principal="alice")
        slow = own.own.made[-1]
        began, go_on = asyncio.Event(), asyncio.Event()

        async def slowly() -> None:
            began.set()
            await go_on.wait()

        monkeypatch.setattr(slow, "close", slowly)
        monkeypatch.setattr(source_pool, "IDLE_SECONDS", -1.0)
        async with asyncio.TaskGroup() as group:
            group.create_task(gate.servers.sweep())
            await began.wait()
            await gate.call("own.raw", principal="alice")
            go_on.set()
        assert [auth.over for auth in opened] == [True, False]
    assert [auth.over for auth in opened] == [True, True]


@pytest.mark.slow
def test_a_name_takes_no_word_out_of_the_answers_of_all() -> None:
    """Where an API wants to be told who asks, a principal whom an issuer lets choose a name could choose any word."""
    from doorward.secrets.owned import OwnedSecrets
    from doorward.secrets.owners import Owner
    from doorward.secrets.scrubber import MAX_SHARED_VALUES
    from doorward.secrets.store import Secret, Secrets

    secrets = Secrets(environ={})
    for name in ("description", *(f"person-{number:05}" for number in range(MAX_SHARED_VALUES + 5))):
        theirs = OwnedSecrets(secrets, Owner("own", name), lambda key, name=name: name if key == "name" else None)  # type: ignore[misc]
        assert Secret("${principal:name}", theirs).reveal() == name
        assert Secret("as ${principal:name}", theirs).reveal() == f"as {name}"
    assert secrets.scrub("a description of person-00001") == "a description of person-00001"
    assert secrets.scrub("as description") == "as description"  # so many came after them
    assert secrets.scrub("as person-01000") == "[secret]"


async def test_what_is_fetched_for_many_is_scrubbed_within_bounds(own: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who comes and goes leaves nothing that grows; who asks now is scrubbed."""
    from doorward.servers import auths

    class Fetching(Login):
        def create_auth(self) -> Any:
            self._context.redact(f"fetched-{self._context.settings.user}")
            return Said(f"fetched-{self._context.settings.user}")

    own.install("auth", "fetching", Fetching)
    monkeypatch.setattr(auths, "MAX_SHARED_VALUES", 5)
    monkeypatch.setattr(source_pool, "IDLE_SECONDS", -1.0)
    config = OWN.replace("${principal:token}", "x")
    config = config.replace(
        "[principals", 'auth = { type = "fetching", user = "by-${principal:name}" }\n[principals', 1
    )
    async with own.gateway(config) as gate:
        for number in range(12):
            assert (await gate.call("own.raw", principal=f"person-{number:02}"))["user"] == "[secret]"
            await gate.servers.sweep()
        scrub = gate.loaded.secrets.scrub
        assert [number for number in range(12) if scrub(f"fetched-by-person-{number:02}") == "[secret]"] == [
            7,
            8,
            9,
            10,
            11,
        ]


async def _append(to: list[tuple[str, str]], key: Any) -> None:
    to.append(key)


@pytest.mark.slow
async def test_handles_are_their_principals(place: Any) -> None:
    """Sessions, cached programs, artefacts and runs a minute: another's id is one that there is not."""
    config = BOTH.replace('cache = "memory"', 'cache = "memory"\nlimits.rate = 8\nlimits.inline = "1KB"')
    async with place.gateway(config) as gate:
        outcome = await gate.execute("x = 1\nresult = await weather.big()", session_id="new", principal="alice")
        kept = await gate.execute("result = await weather.get_forecast(city='Oslo')", principal="alice")
        uri = outcome.truncated["rest"]
        assert (await gate.result(uri, principal="alice")).total > 1000
        assert kept.cache_id
        leaked = [
            await gate.execute("x", session_id=outcome.session_id, principal="bob"),
            await gate.run_cached(kept.cache_id, principal="bob"),
            await gate.execute("f = ''", params={"f": {"artefact": uri}}, principal="bob"),
        ]
        guessed = [
            await gate.execute("x", session_id="s" * 22, principal="bob"),
            await gate.run_cached("c" * 12, principal="bob"),
        ]
        assert all(not each.ok for each in leaked)
        for theirs, nobodys in zip(leaked, guessed, strict=False):
            a, b = theirs.error, nobodys.error
            assert a is not None
            assert b is not None
            assert (a.kind, a.type, a.hint) == (b.kind, b.type, b.hint)
            assert a.message.replace(outcome.session_id, "s" * 22).replace(kept.cache_id, "c" * 12) == b.message
        for work in (gate.result, gate.file):
            with pytest.raises(UnknownName, match="no result"):
                await work(uri, principal="bob")
        with pytest.raises(UnknownName):
            await gate.close_session(outcome.session_id, principal="bob")
        assert (await gate.execute("x", session_id=outcome.session_id, principal="alice")).value == 1
        assert (await gate.run_cached(kept.cache_id, principal="alice")).ok
        assert "runs a minute" in str([await gate.execute("1", principal="bob") for _ in range(8)])
        assert (await gate.execute("1", principal="alice")).ok
        assert (await gate.execute("1", principal="carol")).ok


async def test_a_server_taken_away_is_gone_from_kept_programs(place: Any) -> None:
    """The configuration of now holds, whatever was kept or opened under that of before."""
    async with place.gateway(BOTH.replace('servers = ["weather"]', 'servers = ["*"]')) as gate:
        before = await gate.execute("result = await weather.get_forecast(city='Oslo')", principal="alice")
        gate.principals._rights["alice"] = Rights(PrincipalSettings(servers=["zephyr-vault"]), gate.servers.modules)
        again = await gate.run_cached(before.cache_id, principal="alice")
        assert not again.ok


async def _held(store: MemoryStore) -> dict[str, int]:
    """The bytes that each principal has, as the store knows them; of each one, those that its records tell of."""
    found: Counter[str] = Counter()
    for record in await store.scan("artefacts"):
        holder, _, id = record.key.partition("/")
        content = await store.blob(f"artefacts/{id}")
        assert content is not None
        found[holder] += content.size
    assert len(store._blobs) == len(await store.scan("artefacts"))
    return dict(found)


async def test_what_one_keeps_costs_nobody_else_theirs() -> None:
    """Room is made at the cost of whoever holds most, the oldest first; time is the same for all."""
    now = [0.0]
    store = MemoryStore(clock=lambda: now[0])
    artefacts = Artefacts(store, most=100, seconds=60, clock=lambda: now[0])

    async def keep(content: str, principal: str) -> Artefact:
        return await artefacts.keep(artefacts.made(content, "text/plain"), principal)

    bobs = await keep("b" * 20, "bob")
    alices = [await keep("a" * 10, "alice") for _ in range(50)]
    assert (await artefacts.open(bobs.uri, "bob")).content == b"b" * 20
    assert [await artefacts.about(a.uri, "alice") is not None for a in alices] == [False] * 42 + [True] * 8
    await keep("c" * 90, "carol")  # the whole room, nearly: others give way, who holds most first
    assert sum((await _held(store)).values()) <= 100
    now[0] = 61
    await keep("d", "dave")
    assert await _held(store) == {"dave": 1}


async def test_what_another_process_keeps_is_counted() -> None:
    """Two on one store: each looks what the other has kept, so that both together keep little more than there is room
    for; and what one removes, the other does not find."""
    store = MemoryStore()
    one, other = (Artefacts(store, most=160, seconds=60) for _ in range(2))
    first = await one.keep(one.made(b"x" * 11, "a/b"), "ann")
    for _ in range(30):
        for each in (one, other):
            await each.keep(each.made(b"x" * 11, "a/b"), "ann")
            assert (await _held(store))["ann"] <= 160 + 2 * 11
    for each in (one, other):
        with pytest.raises(UnknownName):
            await each.open(first.uri, "ann")


@pytest.mark.slow
@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 50), st.integers(0, 20)), max_size=60))
async def test_artefacts_are_bounded_and_counted(steps: list[tuple[str, int, int]]) -> None:
    """Whoever keeps what: never more than there is room for, the newest is there, and the account is right."""
    now = [0.0]
    store = MemoryStore(clock=lambda: now[0])
    artefacts = Artefacts(store, most=60, seconds=30, clock=lambda: now[0])
    for who, size, later in steps:
        now[0] += later
        kept = await artefacts.keep(artefacts.made(b"x" * size, "a/b"), who)
        assert (await artefacts.open(kept.uri, who)).content == b"x" * size
        assert sum((await _held(store)).values()) <= 60


async def test_the_rate_forgets_who_is_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tokens may name any number of principals."""
    now = [100.0]
    monkeypatch.setattr("doorward.access.rate_limit.time.monotonic", lambda: now[0])
    rate = RateLimit(2)
    for n in range(1500):
        await rate.admit(str(n))
    now[0] += 61
    await rate.admit("new")
    assert len(rate._starts) == 1
