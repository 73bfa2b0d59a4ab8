"""Programs that succeeded, kept for `run_cached_code`, and checked against the catalog before they run again."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from doorward import config, programs, values
from doorward.contexts import PluginContext
from doorward.drivers import Cache
from doorward.errors import InvalidProgram, UnknownName
from doorward.logs import log
from doorward.types import CachedProgram, Outcome, Program

if TYPE_CHECKING:
    from doorward.catalog import Catalog
    from doorward.plugins import Plugins


LARGEST = 2**18
"""Bytes of the parameters of a program that is kept."""


class Kept:
    """The configured cache, made when first needed. Without one nothing is kept, and all else works."""

    def __init__(self, loaded: config.Loaded, plugins: Plugins, catalog: Catalog, state: Path) -> None:
        self._loaded = loaded
        self._plugins = plugins
        self._catalog = catalog
        self._state = state
        self._cache: Cache | None = None

    async def keep(self, program: Program, known: Mapping[str, Any], outcome: Outcome) -> Outcome:
        """The outcome with the id under which its program is kept; `known` are its parameters with their values."""
        if self._plugins.hook.keep_program(program=program, outcome=outcome) is False:
            return outcome
        kept = CachedProgram(
            cache_id=secrets.token_urlsafe(9),
            principal=program.principal,
            code=program.code,
            description=program.description,
            params=dict(known),
            functions=program.functions,
            uses={c["function"]: self._hash(c["function"]) for c in outcome.calls},
            digest=programs.digest(program.code, program.functions, sorted(known)),
            created=time.time(),
        )
        try:
            cache = self._made()
            if cache is None or len(values.dump(dict(known))) > LARGEST:
                return outcome
            cache_id = await cache.put(kept)
        except Exception as error:  # the run succeeded; that it could not be kept must not undo it
            log.error("cache_failed", error=repr(error))
            return replace(outcome, notes=(*outcome.notes, "this program could not be kept for run_cached_code"))
        return replace(outcome, cache_id=cache_id, next=again(cache_id, known))

    async def get(self, cache_id: str, principal: str) -> CachedProgram:
        """Raises: UnknownName; InvalidProgram if a function that it uses has changed."""
        cache = self._made()
        kept = await cache.get(cache_id, principal) if cache and cache_id.isascii() else None
        if kept is None or len(kept.code.encode(errors="surrogatepass")) > self._loaded.config.limits.code:
            hint = "Run it with execute_code, and use the cache_id of the answer."
            raise UnknownName(f"there is no cached program {cache_id[:80]!r} (any more)", hint=hint)
        changed = [name for name, then in kept.uses.items() if self._hash(name) != then]
        if changed:
            hint = "See get_functions, and run the program anew with execute_code."
            raise InvalidProgram(f"{', '.join(changed)} changed since this program was kept", hint=hint)
        return kept

    async def close(self) -> None:
        if self._cache is not None:
            await self._cache.close()

    def _hash(self, qualified: str) -> str:
        server, _, name = qualified.partition(".")
        return self._catalog.promise(server, name)

    def _made(self) -> Cache | None:
        """The cache; a default one that is not installed is none. Raises: PluginError, ConfigError."""
        name = self._loaded.config.cache
        if self._cache is None and name and name != "none":
            if "cache" not in self._loaded.named and not self._plugins.index.named("cache", name):
                return None
            driver = self._plugins.driver("cache", name)
            place = f"{self._loaded.file} [caches.{name}]"
            options = self._loaded.config.caches.get(name, {})
            settings = config.validate(driver.Settings, options, secrets=self._loaded.secrets, place=place)
            self._cache = driver(PluginContext(name, settings, self._state))
        return self._cache


def again(cache_id: str, params: Mapping[str, Any]) -> str:
    """The exact call to make next time. Large parameters are left out: they keep their values."""
    shown = {k: v for k, v in list(params.items())[:10] if len(values.dump(v)) <= 200}
    return f"run_cached_code({json.dumps(cache_id)}, {json.dumps(shown, ensure_ascii=False)})"
