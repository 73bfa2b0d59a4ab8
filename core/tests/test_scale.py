"""Many servers, principals and patterns cost no more than few, where it counts: told by counts, never by times."""

from __future__ import annotations

from typing import Any

import pytest
from doorward import Compiled, Function
from doorward.access import patterns
from doorward.access.rules import matches
from doorward.data.cursors import page
from doorward.gateway import Gateway
from doorward.model.errors import InvalidArguments
from doorward.servers import background_refresh
from doorward_testing.many_servers import FEW, MANY, Counted, Rows, configured, opened
from hypothesis import given, settings
from hypothesis import strategies as st

from .conftest import Weather

pytestmark = [pytest.mark.slow, pytest.mark.anyio]


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counted:
    counts, fit = Counted(monkeypatch), patterns.Patterns.fit

    def counting(self: patterns.Patterns, *names: str) -> bool:
        counts.fits += 1
        return fit(self, *names)

    monkeypatch.setattr(patterns.Patterns, "fit", counting)
    return counts


@pytest.fixture
def place(doorward_host: Any) -> Any:
    doorward_host.install("source", "rows", Rows)
    return doorward_host


async def test_a_run_asks_nothing_of_servers_principals_and_patterns(place: Any, counted: Counted) -> None:
    """`result = 1` makes as many statements whatever there is, and holds no name against a pattern."""

    async def made(gate: Gateway) -> list[int]:
        found = []
        for who in ("local", "p0", "few", "nobody"):
            assert (await gate.execute("result = 1", principal=who)).value == 1
            with counted.afresh():
                assert (await gate.execute("result = 1", principal=who)).value == 1
            found += [len(counted.statements), counted.fits]
        return found

    few, many = await opened(place, FEW, made), await opened(place, MANY, made)
    assert few == many
    assert set(few[1::2]) == {0}
    assert max(few) <= 2


async def test_what_is_found_is_theirs_however_many_they_have(place: Any) -> None:
    """A principal of many servers finds what a view of few would show: theirs alone, with the right count."""

    async def look(gate: Gateway) -> None:
        theirs = set(gate.servers.names("p3"))
        assert len(theirs) == FEW // 2
        for words in ("get issue", "get_payment_1", "", "tag:x", "payment"):
            seen, cursor = [], None
            while True:
                answer = await gate.search_functions(words, principal="p3", limit=50, cursor=cursor)
                seen += [f["function"] for f in answer["functions"]]
                if (cursor := answer.get("cursor")) is None:
                    break
            assert {name.partition(".")[0] for name in seen} <= theirs
            assert len(seen) == len(set(seen)) == answer["total"]
            assert not seen if words == "tag:x" else len(seen) >= len(theirs)

    await opened(place, FEW, look)


async def test_a_start_holds_no_name_against_a_pattern(place: Any, counted: Counted) -> None:
    """Patterns are read when their principal first asks; a gateway that is opened asks the catalog as much whatever
    there is."""

    async def made(gate: Gateway) -> None: ...

    found = []
    for size in (FEW, MANY):
        await opened(place, size, made)
        with counted.afresh():
            async with place.gateway(configured(size), compile=False) as gate:
                assert gate.compiler.stale() == []
        found.append((len(counted.statements), counted.fits))
    assert found[0] == found[1]
    assert found[0][1] == 0


async def test_misspelt_patterns_are_found_by_looking_at_each_once(place: Any, counted: Counted) -> None:
    """Exact names are looked up; each wildcard is held once against all names, though many principals have it."""
    async with place.gateway(configured(FEW), compile=False) as gate:
        tables = (f'[principals.q{n}]\nservers = ["rows-1", "rows-*", "other-*", "no-such"]\n' for n in range(50))
        text = configured(FEW) + "".join(tables)
        assert not [*gate.principals.unknown()]
    async with place.gateway(text, compile=False) as gate:
        with counted.afresh():
            wrong = [*gate.principals.unknown()]
    assert len(wrong) == 100
    assert counted.fits <= 4


async def test_a_compile_in_which_nothing_has_changed_looks_at_each_server_once(place: Any, counted: Counted) -> None:
    """A few statements a server, none that writes, whatever the others are."""
    found = []
    for size in (FEW, MANY):
        await opened(place, size, lambda gate: gate.compile())
        async with place.gateway(configured(size), compile=False) as gate:
            with counted.afresh():
                reports = await gate.compile()
            assert len(reports) == size
            assert {sql.split()[0] for sql in counted.statements} <= {"SELECT", "PRAGMA"}
            found.append(len(counted.statements) / size)
            assert counted.fits == 0
    assert max(found) < 4
    assert abs(found[0] - found[1]) < 0.2


async def test_a_small_catalog_is_listed_as_ever(doorward_host: Any) -> None:
    """Of few servers ten names each, no total, no cursor; what is wrong with one behind the others, on its own page
    too."""
    text = 'executor = "inprocess"\nplugins = []\n[servers.weather]\nsource = "fake"\n[servers.odd]\nsource = "none-such"\n'
    async with doorward_host.gateway(text) as gate:
        whole = await gate.list_servers()
        assert [list(server) for server in whole["servers"]] == [
            ["name", "functions", "first", "about"],
            ["name", "functions", "broken"],
        ]
        assert whole.keys() == {"servers", "executors"}
        assert len(whole["servers"][0]["first"]) == 8
        one = await gate.list_servers(limit=1)
        two = await gate.list_servers(limit=1, cursor=one["cursor"])
        assert (one["total"], one["servers"] + two["servers"]) == (2, whole["servers"])
        assert "cursor" not in two


async def test_an_error_names_only_some_of_many_servers(place: Any) -> None:
    """What is said of a name that is none is as long for many servers as for few; a program still gets all of them."""

    async def told(gate: Gateway) -> list[int]:
        texts = [str((await gate.execute(code)).error) for code in ("import xyzzy", "raise NameError('x')")]
        texts.append(str(await gate.get_functions(["xyzzy.f", "rows_1.get_isue_0"])))
        assert len((await gate.discovery.servers("local"))["servers"]) == len(gate.servers.modules)
        return [len(text) // 50 for text in texts]

    assert await opened(place, FEW, told) == await opened(place, MANY, told)


async def test_not_all_servers_are_compiled_at_once(doorward_host: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each may be a process: a gateway that starts with nothing compiled takes some at a time, and gets them all."""
    import anyio

    class Slow(Weather):
        async def compile(self) -> Compiled:
            running.append(self.name)
            most.append(len(running))
            await anyio.sleep(0.01)
            running.remove(self.name)
            return Compiled([Function(self.name, "f")])

    running: list[str] = []
    most: list[int] = []
    monkeypatch.setattr(background_refresh, "MAX_CONCURRENT_COMPILES", 5)
    doorward_host.install("source", "slow", Slow)
    text = 'executor = "inprocess"\nplugins = []\n' + "".join(f'[servers.s{n}]\nsource = "slow"\n' for n in range(30))
    async with doorward_host.gateway(text) as gate:
        assert len((await gate.list_servers())["servers"]) == 30
    assert len(most) == 30
    assert max(most) <= 5


NAMES = st.text("ab_-.*?[]!x", min_size=1, max_size=6)


@settings(deadline=None)
@given(written=st.lists(NAMES, max_size=5), name=NAMES, function=NAMES, id=NAMES)
def test_patterns_read_once_mean_what_each_of_them_means(written: list[str], name: str, function: str, id: str) -> None:
    """A set and one expression decide as the patterns one by one do, wildcards, brackets and names of whole servers
    included."""
    from fnmatch import fnmatchcase

    from doorward.model.names import qualified

    assert patterns.Patterns(written).fit(name) == any(p == name or fnmatchcase(name, p) for p in written)
    it = Function(name, function, id)
    names = (it.qualified, f"{it.server}.{it.id}")
    one_by_one = any(p == it.server or any(n == p or fnmatchcase(n, p) for n in names) for p in map(qualified, written))
    assert matches(it, written) == one_by_one


@settings(deadline=None)
@given(st.lists(st.integers(), max_size=20), st.integers(1, 7))
def test_pages_are_the_whole(whole: list[int], limit: int) -> None:
    """Page after page, each part comes once and in order."""
    seen: list[int] = []
    cursor = ""
    while True:
        shown, cursor = page(whole, limit, cursor)
        seen += shown
        if not cursor:
            break
    assert seen == whole
    with pytest.raises(InvalidArguments):
        page(whole, limit, "none of ours")


async def test_misspelt_patterns_are_logged_beside_the_start(place: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A gateway that serves says which patterns fit no server; one that is opened for a single question does not
    look."""
    import anyio
    from doorward.access import principals

    told: list[str] = []
    monkeypatch.setattr(principals.log, "warning", lambda event, **more: told.append(more.get("what", "")))
    text = configured(4) + '[principals.odd]\nservers = ["rosw-1", "rows-*"]\n'
    async with place.gateway(text, compile=False):
        await anyio.sleep(0.05)
    assert told == []
    async with place.gateway(text):
        with anyio.fail_after(60):
            while not told:
                await anyio.sleep(0.01)
    assert told == ["[principals.odd] servers: 'rosw-1' fits no server"]
