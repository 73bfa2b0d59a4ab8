"""Conformance tests of engines that store the catalog."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from doorward.engines import (
    CatalogReader,
    CatalogStore,
    Contents,
    Row,
)

_NAMES = ("get_cat", "list_dogs", "über'\"; --")


def _contents(server: str, names: Sequence[str] = _NAMES, **more: Any) -> Contents:
    """A server as it is stored. What plugins derive of its functions is bytes to an engine."""

    def record(name: str) -> str:
        return json.dumps(
            {"route": f"GET /{name}", **({"aliases": ["kitten"]} if name == "get_cat" else {})}, separators=(",", ":")
        )

    return Contents(
        server,
        report=json.dumps({"settings": f"s-{server}", "functions": len(names)}),
        derived={"index": f"{server} {' '.join(names)}".encode() + b"\x00\xff", "graph": server.encode()},
        functions=[(Row(server, name, record(name)), f"id of {name}", name.startswith("get")) for name in names],
        definitions=more.get("definitions", [("Thing", '{"type":"object"}')]),
    )


class CatalogStoreConformance:
    """For engines that store the catalog. Override `store`: an empty store in the folder; two stores of one folder
    share their contents."""

    def store(self, folder: Path) -> CatalogStore:
        raise NotImplementedError

    @pytest.fixture
    def kept(self, tmp_path: Path) -> CatalogStore:
        return self.store(tmp_path)

    @pytest.fixture
    def reader(self, kept: CatalogStore) -> Iterator[CatalogReader]:
        """A reader that was open before `one` and `two` were stored."""
        reader = kept.made()
        for server in ("two", "one"):
            kept.replace(_contents(server))
        yield reader
        reader.close()

    def test_nothing_is_there_until_somebody_writes(self, kept: CatalogStore, tmp_path: Path) -> None:
        """A look makes nothing; the first write makes the store, for all who use the folder."""
        assert kept.open() is None
        assert not kept.touched()
        kept.check()
        assert kept.remove() == []
        self.store(tmp_path).replace(_contents("one"))
        assert kept.touched()
        reader = kept.open()
        assert reader is not None
        assert reader.current
        assert reader.servers() == {"one"}
        reader.close()

    def test_a_server_is_read_as_it_was_stored(self, reader: CatalogReader) -> None:
        """In the order of its document, by names, original ids and aliases."""
        assert reader.servers() == {"one", "two"}
        assert [name for name, _ in reader.reports()] == ["one", "two"]
        assert [(name, json.loads(text)["functions"]) for name, text in reader.reports("one")] == [("one", 3)]
        assert reader.reports("three") == []
        assert reader.settings() == {"one": "s-one", "two": "s-two"}
        assert reader.derived("index") == [(server, _contents(server).derived["index"]) for server in ("one", "two")]
        assert [reader.derived("graph", server) for server in ("one", "three")] == [[("one", b"one")], []]
        assert reader.derived("other") == []
        assert [row.name for row in reader.functions("one")] == list(_NAMES)
        assert reader.names("one", "name", None) == _NAMES
        assert reader.names("one", "original", 2) == ("id of get_cat", "id of list_dogs")
        assert reader.named("two")[0] == ("get_cat", "id of get_cat", "GET /get_cat")
        assert [(json.loads(aliases), name) for aliases, name in reader.aliases("one")] == [(["kitten"], "get_cat")]
        assert reader.definition("one", "Thing") == '{"type":"object"}'
        assert reader.definition("one", "Other") is None
        by_name, by_id = reader.function("one", _NAMES[2]), reader.function("one", f"id of {_NAMES[2]}")
        assert by_name is not None
        assert by_name == by_id
        assert by_name.server == "one"
        assert reader.function("one", "") is None
        assert reader.function("three", "get_cat") is None

    def test_a_compile_replaces_its_server(self, kept: CatalogStore, reader: CatalogReader) -> None:
        """It replaces the whole server and no other. An open reader sees the change, and a new version."""
        before = reader.version()
        kept.replace(_contents("one", ["get_cow"], definitions=[]))
        assert reader.version() != before
        assert reader.names("one", "name", None) == ("get_cow",)
        assert reader.definition("one", "Thing") is None
        assert reader.names("two", "name", None) == _NAMES
        assert dict(reader.derived("index"))["one"] == _contents("one", ["get_cow"]).derived["index"]
        before = reader.version()
        kept.drop(["one", "three"])
        assert reader.version() != before
        assert reader.servers() == {"two"}
        assert [server for server, _ in reader.derived("index")] == ["two"]
        assert reader.current

    def test_what_is_derived_is_replaced_alone(self, kept: CatalogStore, reader: CatalogReader) -> None:
        """That is no compile, and of a server that is not there nothing is kept."""
        before = reader.version()
        kept.replace_derived("one", "graph", b"another")
        kept.replace_derived("one", "new", b"first")
        kept.replace_derived("nosuch", "graph", b"another")
        assert reader.version() == before
        assert (reader.derived("graph", "one"), reader.derived("new", "one")) == (
            [("one", b"another")],
            [("one", b"first")],
        )
        assert reader.derived("graph", "nosuch") == []

    def test_a_compile_that_fails_changes_nothing(self, kept: CatalogStore, reader: CatalogReader) -> None:
        """It is one transaction."""

        def failing() -> Iterator[tuple[str, str]]:
            yield "Thing", "{}"
            raise ZeroDivisionError

        before = reader.version()
        with pytest.raises(ZeroDivisionError):
            kept.replace(_contents("one", ["get_cow"], definitions=failing()))
        assert reader.version() == before
        assert reader.names("one", "name", None) == _NAMES
        assert reader.definition("one", "Thing") == '{"type":"object"}'
        kept.replace(_contents("one"))

    @pytest.mark.parametrize("way", ["remove", "discard"])
    def test_what_is_removed_is_not_current(self, kept: CatalogStore, reader: CatalogReader, way: str) -> None:
        """An open reader knows that its store is gone; a new store is empty."""
        if way == "remove":
            assert kept.remove()
        else:
            reader.discard("a test")
        assert not reader.current
        assert kept.open() is None
        new = kept.made()
        assert new.current
        assert new.servers() == set()
        assert new.version() != reader.version()
        new.close()
