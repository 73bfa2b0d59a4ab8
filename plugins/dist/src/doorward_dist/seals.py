"""What this process has compiled itself, where an organisation has locked how functions are guarded: whoever can write
the stored catalog must not decide whether a function only reads, or where its calls go."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b

from doorward import StateError, log
from doorward.configuration import Key, Named


class Seals:
    """The digests of what was compiled, by server. They are in memory alone: a key beside the catalog could be read by
    whoever can write there. `altered` is called with a server that was changed by others."""

    def __init__(self) -> None:
        self._digests: dict[str, dict[Key, set[bytes]]] = {}
        self._names: dict[str, Sequence[Named]] = {}
        self.altered: Callable[[str], None] = lambda server: None

    def __contains__(self, server: str) -> bool:
        return server in self._digests

    def names(self, server: str) -> Sequence[Named]:
        """The functions of the last compile."""
        return self._names.get(server, ())

    def store(self, server: str, texts: Mapping[Key, str], names: Sequence[Named], write: Callable[[], None]) -> None:
        """Write a compile. While it is written, what it replaces holds as well."""
        found = {key: {_digest(text)} for key, text in texts.items()}
        before = self._digests.get(server, {})
        self._digests[server] = {key: found.get(key, set()) | before.get(key, set()) for key in {**before, **found}}
        self._names[server] = names
        write()
        self._digests[server] = found

    def check(self, server: str, key: Key, text: str) -> None:
        """Check a stored text. Raises: StateError if it is not what was compiled here."""
        if server not in self._digests:
            raise StateError(
                f"{server} has not been compiled by this process yet",
                hint="Try again in a moment. What others have stored is not used where a distribution has locks.",
            )
        if _digest(text) not in self._digests[server].get(key, ()):
            del self._digests[server]
            self._names.pop(server, None)  # or two processes that keep other names would undo each other's compiles
            log.error("catalog_altered", server=server, what=" ".join(key))
            self.altered(server)
            raise StateError(
                f"the {key[0]} {server}.{key[1]} is not stored as it was compiled",
                hint="Somebody else has changed the catalog. It is compiled again: try again in a moment.",
            )


def _digest(text: str) -> bytes:
    return blake2b(text.encode(errors="surrogatepass"), digest_size=20).digest()
