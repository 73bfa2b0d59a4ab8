"""Conformance tests of caches: inherit `CacheConformance`, and say which class it is."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from typing import Any, ClassVar

import pytest
from doorward.sandboxing import CachedProgram

from doorward_testing.conformance.base import only, require
from doorward_testing.conformance.drivers import DriverConformance

BIG_BYTES = 2**20
ODD_IDS = ("", " ", "'; DROP TABLE programs; --", "one\0", "x" * 100_000, "../one", "%", "*", "ONE", "ünï🎉")
"""Ids that nobody was given."""


class CacheConformance(DriverConformance):
    """For caches. Say `driver`, and override `settings`, where it needs any."""

    kind = "cache"
    lasts: ClassVar[bool] = True
    """Whether what is kept outlives the process."""

    def cache(self, host: Any) -> Any:
        """An instance in the host's folder. Override this where `driver` takes more than a context."""
        return self.driver(host.context(self.driver.Settings, self.settings(host)))

    def program(self, cache_id: str = "one", principal: str = "alice", digest: str = "d", **more: Any) -> CachedProgram:
        """A program to keep."""
        kept = CachedProgram(cache_id, principal, "x = 1", "", {"x": 1}, None, {}, digest, time.time())
        return replace(kept, **more)

    @pytest.mark.anyio
    async def test_what_is_put_is_got(self, host: Any) -> None:
        """A program comes back as it was kept."""
        cache = self.cache(host)
        kept = self.program()
        require(await cache.put(kept) == "one", "put did not answer the id of the program, which is new")
        await self._require_kept(cache, kept)
        await cache.close()

    @pytest.mark.anyio
    async def test_values_are_what_they_were(self, host: Any) -> None:
        """Texts and JSON of every kind, and programs of a megabyte, come back as they were, of the same types."""
        cache = self.cache(host)
        values: dict[str, Any] = {
            "null": None,
            "yes": True,
            "one": 1,
            "float": 1.0,
            "long": 2**70,
            "text": 'ünï"\\\n\0🎉',
            "": [[], {}],
        }
        more: dict[str, Any] = {"code": "# " + "ä" * BIG_BYTES, "description": "'); --\n\0", "params": values}
        kept = self.program(**more, functions=("a.b", "c.*"), uses={"a.b": "hash", "ü.ü": ""})
        await cache.put(kept)
        await self._require_kept(cache, kept)
        await self._put_and_require(cache, self.program("two", digest="e", functions=(), language="typescript"))
        await cache.close()

    @pytest.mark.anyio
    async def test_belongs_to_its_principal(self, host: Any) -> None:
        """No other principal can name it, and an equal program of another principal gets an id of its own."""
        cache = self.cache(host)
        await cache.put(self.program())
        for other in ("mallory", "ALICE", "alice ", "", "%"):
            require(await cache.get("one", other) is None, f"the program of 'alice' was given to {other!r}")
        ours = await cache.put(self.program("two", "mallory"))
        require(ours == "two", f"mallory's program got the id {ours!r}: it is another than that of alice")
        await self._require_kept(cache, self.program(created=(await cache.get("one", "alice")).created))
        await cache.close()

    @pytest.mark.anyio
    async def test_equal_program_keeps_its_id(self, host: Any) -> None:
        """The same program kept twice has one id."""
        cache = self.cache(host)
        await cache.put(self.program())
        again = await cache.put(self.program("two"))
        require(again == "one", f"put answered {again!r}: a program of the same principal and digest keeps its id")
        require(await cache.get("two", "alice") is None, "a program that keeps its id was stored under another, too")
        await cache.close()

    @pytest.mark.anyio
    async def test_ids_that_nobody_was_given(self, host: Any) -> None:
        """There is nothing under them, and nothing is raised."""
        cache = self.cache(host)
        await cache.put(self.program())
        for odd in ODD_IDS:
            with only((), f"get({odd[:40]!r})", "Answer None."):
                require(await cache.get(odd, "alice") is None, f"there is a program under {odd[:40]!r}")
        await cache.close()

    @pytest.mark.anyio
    async def test_many_at_once(self, host: Any) -> None:
        """Many principals keep programs at the same time, in two instances; each gets its own."""
        caches = [self.cache(host), self.cache(host)] if self.lasts else [self.cache(host)]
        kept = [self.program(f"id-{n}", f"principal-{n % 10}", f"digest-{n}") for n in range(100)]
        with only((), "put, many times at once", "Calls may overlap, and another process may use the same store."):
            ids = await asyncio.gather(*(caches[n % len(caches)].put(one) for n, one in enumerate(kept)))
        require(ids == [one.cache_id for one in kept], "programs that differ got ids of others")
        for one in kept:
            await self._require_kept(caches[0], one)
        same = await asyncio.gather(*(caches[0].put(self.program(f"same-{n}", digest="s")) for n in range(20)))
        require(len(set(same)) == 1, f"one program, put at once, got {len(set(same))} ids")
        for cache in caches:
            await cache.close()

    @pytest.mark.anyio
    async def test_it_lasts(self, host: Any) -> None:
        """What one instance has kept, the next one has."""
        if not self.lasts:
            pytest.skip("what it keeps ends with the process")
        first, kept = self.cache(host), self.program()
        await first.put(kept)
        await first.close()
        second = self.cache(host)
        await self._require_kept(second, kept)
        require(await second.put(self.program("two")) == "one", "a program that was kept before got another id")
        await second.close()

    @pytest.mark.anyio
    async def test_it_can_be_closed(self, host: Any) -> None:
        """Without having been used, and a second time."""
        for used in (False, True):
            cache = self.cache(host)
            with only((), "close", "Give back what was opened, if anything was."):
                if used:
                    await cache.put(self.program())
                await cache.close()
                await cache.close()

    async def _put_and_require(self, cache: Any, program: CachedProgram) -> None:
        await cache.put(program)
        await self._require_kept(cache, program)

    async def _require_kept(self, cache: Any, program: CachedProgram) -> None:
        found = await cache.get(program.cache_id, program.principal)
        require(found is not None, f"nothing is kept under {program.cache_id!r} of {program.principal!r}")
        for name in CachedProgram.__dataclass_fields__:
            before, after = getattr(program, name), getattr(found, name)
            same = repr(before) == repr(after) if name != "created" else True
            require(same, f"{name} was {before!r:.200}, and came back as {after!r:.200}")
