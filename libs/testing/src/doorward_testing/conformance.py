"""Conformance tests of sources, auths and caches: inherit a class, say how to make your driver, and have its tests."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from doorward import CachedProgram


class _Async:
    @pytest.fixture
    def anyio_backend(self) -> str:
        return "asyncio"


class SourceConformance(_Async):
    """For sources. Override `source`: a fresh instance whose server has at least one function."""

    def source(self, host: Any) -> Any:
        raise NotImplementedError

    @pytest.mark.anyio
    async def test_names_are_unique_identifiers(self, host: Any) -> None:
        """Every function has a Python name of its own within its server."""
        source = self.source(host)
        await source.fingerprint()
        functions = (await source.compile()).functions
        names = [f.name for f in functions]
        assert names
        assert all(n.isidentifier() for n in names)
        assert len(set(names)) == len(names)
        await source.close()

    @pytest.mark.anyio
    async def test_fingerprint_is_stable(self, host: Any) -> None:
        """An unchanged document has an unchanged fingerprint."""
        first, second = self.source(host), self.source(host)
        assert await first.fingerprint() == await second.fingerprint()
        await first.close()
        await second.close()

    @pytest.mark.anyio
    async def test_functions_are_plain_data(self, host: Any) -> None:
        """The stored parts of a function are JSON, and its parameters are an object."""
        source = self.source(host)
        await source.fingerprint()
        for function in (await source.compile()).functions:
            json.dumps([function.parameters, function.returns, function.data])
            assert function.parameters["type"] == "object"
        await source.close()


class AuthConformance(_Async):
    """For auths. Override `auth(host, environ)`: a driver that takes a secret from `${CANARY}`."""

    def auth(self, host: Any, environ: dict[str, str]) -> Any:
        raise NotImplementedError

    def test_nothing_is_revealed_early(self, host: Any) -> None:
        """To make the auth needs no secret: it is revealed with the first request."""
        self.auth(host, {}).create_auth()


class CacheConformance(_Async):
    """For caches. Override `cache`: a fresh, empty instance."""

    def cache(self, host: Any) -> Any:
        raise NotImplementedError

    def program(self, cache_id: str = "one", principal: str = "alice", digest: str = "d") -> CachedProgram:
        return CachedProgram(cache_id, principal, "x = 1", "", {"x": 1}, None, {}, digest, time.time())

    @pytest.mark.anyio
    async def test_what_is_put_is_got(self, host: Any) -> None:
        """A program comes back as it was kept."""
        cache = self.cache(host)
        kept = self.program()
        assert await cache.put(kept) == "one"
        assert await cache.get("one", "alice") == kept
        await cache.close()

    @pytest.mark.anyio
    async def test_belongs_to_its_principal(self, host: Any) -> None:
        """No other principal can name it, and an equal program of another principal gets an id of its own."""
        cache = self.cache(host)
        await cache.put(self.program())
        assert await cache.get("one", "mallory") is None
        assert await cache.put(self.program("two", "mallory")) == "two"
        await cache.close()

    @pytest.mark.anyio
    async def test_equal_program_keeps_its_id(self, host: Any) -> None:
        """The same program kept twice has one id."""
        cache = self.cache(host)
        await cache.put(self.program())
        assert await cache.put(self.program("two")) == "one"
        await cache.close()
