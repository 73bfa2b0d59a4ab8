"""Conformance tests of engines that store artefacts."""

from __future__ import annotations

from doorward.engines import ArtefactStore, StoredArtefact


class ArtefactStoreConformance:
    """For engines that store artefacts. Override `store`: an empty store."""

    def store(self) -> ArtefactStore:
        raise NotImplementedError

    def artefact(self, content: bytes, until: float = 10.0) -> StoredArtefact:
        return StoredArtefact(content, "text/plain", until, "a.txt", True)

    def test_what_is_put_is_got(self) -> None:
        """An artefact is found by its principal and its id only."""
        store = self.store()
        kept = self.artefact(b"abc")
        store.put("alice", "1", kept)
        assert store.get("alice", "1") == kept
        assert store.get("mallory", "1") is None
        assert store.get("alice", "2") is None

    def test_room_is_counted_and_made(self) -> None:
        """Bytes are counted by principal, and the oldest artefact goes first. Principals without artefacts are left
        out."""
        store = self.store()
        for id, who, size in (("1", "alice", 3), ("2", "alice", 5), ("3", "bob", 7)):
            store.put(who, id, self.artefact(b"x" * size))
        assert dict(store.held()) == {"alice": 8, "bob": 7}
        assert store.drop_oldest("alice") == 3
        assert store.get("alice", "1") is None
        assert store.get("alice", "2") is not None
        assert store.drop_oldest("bob") == 7
        assert dict(store.held()) == {"alice": 5}

    def test_what_is_over_goes(self) -> None:
        """Artefacts of all principals end at their time."""
        store = self.store()
        for id, until in (("1", 10.0), ("2", 20.0)):
            store.put("alice", id, self.artefact(b"abc", until))
        store.put("bob", "3", self.artefact(b"abc", 5.0))
        store.drop_until(10.0)
        assert dict(store.held()) == {"alice": 3}
        assert store.get("alice", "2") is not None
