"""The random numbers of a program, all made from the seed of its run: so it draws the same if it is run again."""

from __future__ import annotations

import os
import random
import sys
from typing import Any

try:
    from _sha3 import shake_256  # type: ignore[import-not-found]  # `hashlib` would load OpenSSL into every jail
except ImportError:
    from hashlib import shake_256

_seed, _system = random.Random.seed, os.urandom


class Chance:
    """Where `os`, `random`, `secrets`, `tempfile`, `uuid` and numpy get random numbers from. To whoever does not know
    the seed they are as good as the system's."""

    def __init__(self) -> None:
        self._stream = b""
        self._drawn = 0

    def install(self) -> None:
        """Take the places of the system's functions. Once, before packages are loaded."""
        os.urandom = self.urandom
        os.getrandom = lambda size, flags=0: self.urandom(size)
        random._urandom = self.urandom  # type: ignore[attr-defined]
        chance = self

        def seed(one: random.Random, a: Any = None, version: int = 2) -> None:
            _seed(one, chance._number() if a is None else a, version)

        random.Random.seed = seed  # type: ignore[assignment]
        random.seed = random._inst.seed
        sys.modules["_uuid"] = None  # type: ignore[assignment]  # a library of the system's, which draws by itself
        os.register_at_fork(after_in_child=self.stop)

    def begin(self, seed: bytes) -> None:
        """Begin the first run of a sandbox. Without a seed, the numbers are the system's."""
        self._stream, self._drawn = seed, 0
        random.seed()
        if "numpy.random" in sys.modules:  # it does not notice a fork: all sandboxes would draw the same numbers
            sys.modules["numpy.random"].seed(list(self.urandom(32)))

    def stop(self) -> None:
        """Draw from the system: this is another process, which must not draw the same numbers."""
        self._stream = b""

    def urandom(self, size: int, /) -> bytes:
        if not self._stream:
            return _system(size)
        self._drawn += 1
        return shake_256(self._stream + self._drawn.to_bytes(8, "big")).digest(size)  # type: ignore[no-any-return]

    def _number(self) -> int | None:
        return int.from_bytes(self.urandom(32), "big") if self._stream else None
