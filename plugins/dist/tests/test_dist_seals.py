"""Where a distribution has locks, what others write into the catalog disarms no guard."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from doorward import Call, hookimpl
from doorward.catalog.catalog import Catalog
from doorward.model.errors import StateError
from doorward.model.functions import Compiled, Function
from doorward_dist.seals import Seals
from doorward_store_sqlite.catalog import SqliteCatalog
from doorward_testing.samples import CONFIG, Weather

pytestmark = pytest.mark.anyio

WRITE = "await weather.add_station(city='Oslo')"


class ReadsOnly:
    """The guard of an organisation."""

    @hookimpl
    def guard_call(self, call: Call) -> str | None:
        return None if call.function.read_only else "nothing is written here"


def flip(folder: Path) -> None:
    """Call a write a read, as somebody may who can write the file."""
    (file,) = folder.rglob("catalog.db")
    with sqlite3.connect(file) as db:
        db.execute("UPDATE functions SET read_only = 1, record = json_set(record, '$.read_only', json('true'))")
        db.execute("UPDATE compiles SET number = number + 1")
    db.close()


@pytest.fixture
def host(doorward_host: Any) -> Any:
    doorward_host.install("plugin", "reads_only", ReadsOnly())
    return doorward_host


@pytest.mark.parametrize("manifest", ['[required]\nplugins = ["reads_only"]\n', '[locked.policy]\nallow = ["*"]\n'])
async def test_a_flipped_function_is_compiled_again_at_the_start(
    host: Any, distro: Callable[..., None], manifest: str
) -> None:
    """The guard decides by what the source said, whatever stands in the file."""
    distro(manifest, requires=("doorward", "test-plugin==1.0"))
    config = CONFIG.replace("[]", '["reads_only"]')
    for _ in range(2):
        async with host.gateway(config) as gate:
            assert "nothing is written here" in (await gate.execute(WRITE)).error.message
        flip(host.folder)


async def test_a_function_that_is_flipped_while_it_is_served_is_refused(host: Any, distro: Callable[..., None]) -> None:
    """Until it is compiled again; then it is what it was."""
    distro('[required]\nplugins = ["reads_only"]\n', requires=("doorward", "test-plugin==1.0"))
    async with host.gateway(CONFIG.replace("[]", '["reads_only"]')) as gate:
        assert (await gate.execute("await weather.get_forecast(city='Oslo')")).ok
        flip(host.folder)
        error = (await gate.execute(WRITE)).error
        assert "is not stored as it was compiled" in error.message
        await gate.compile()
        assert "nothing is written here" in (await gate.execute(WRITE)).error.message


async def test_a_server_that_cannot_be_compiled_is_not_served_from_the_file(
    host: Any, distro: Callable[..., None]
) -> None:
    """Without locks its last compile goes on; with them nobody knows whether it is that."""

    class Down(Weather):
        async def fingerprint(self) -> str:
            if self.down:
                raise StateError("the document cannot be reached")
            return await super().fingerprint()

        down = False

    host.install("source", "down", Down)
    config = CONFIG.replace('"fake"', '"down"')
    async with host.gateway(config) as gate:
        assert (await gate.execute(WRITE)).ok
    Down.down = True
    async with host.gateway(config) as gate:
        assert (await gate.execute(WRITE)).ok
    distro('[required]\nplugins = ["reads_only"]\n', requires=("doorward", "test-plugin==1.0"))
    async with host.gateway(config) as gate:
        await gate.ready()
        assert "cannot be reached" in str(gate.servers.broken["weather"])
        assert not (await gate.execute(WRITE)).ok


def test_what_is_stored_is_held_against_what_was_compiled(tmp_path: Path) -> None:
    """A function, and a definition; names come from memory; without seals nothing is asked."""
    stored = SqliteCatalog(tmp_path / "catalog.db")
    told: list[str] = []
    sealed, other = Catalog(stored, Seals()), Catalog(stored)
    assert sealed.integrity is not None
    sealed.integrity.altered = told.append
    compiled = Compiled(
        [Function("s", "get", "get", read_only=True), Function("s", "add", "add")], {"Thing": {"type": "object"}}
    )
    other.store("s", compiled, fingerprint="f", settings="c", ms=1)
    sealed.refresh()
    assert not sealed.trusts("s")
    with pytest.raises(StateError, match="has not been compiled by this process yet"):
        sealed.function("s", "get")
    sealed.store("s", compiled, fingerprint="f", settings="c", ms=1)
    sealed.refresh()
    assert sealed.function("s", "get") is not None
    assert [each.name for each in sealed.named("s")] == ["get", "add"]
    assert sealed.definition("s", "Thing") == {"type": "object"}
    with sqlite3.connect(tmp_path / "catalog.db") as db:
        db.execute("UPDATE definitions SET schema = '{}'")
        db.execute("UPDATE compiles SET number = number + 1")
    db.close()
    sealed.refresh()
    with pytest.raises(StateError, match=r"the definition s\.Thing is not stored as it was compiled"):
        sealed.definition("s", "Thing")
    assert told == ["s"]
    assert not sealed.trusts("s")
    other.refresh()
    assert other.definition("s", "Thing") == {}
