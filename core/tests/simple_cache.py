"""A plugin that keeps programs in the cache that a configuration names, for tests of what may be run again, by whom and
how: that of somebody else, who keeps them in the tests of core."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from doorward import DoorwardError, Gateway, Outcome, Program, Settings, UnknownName, hookimpl
from doorward.sandboxing import KEPT_PROGRAMS, CachedProgram
from doorward_testing import Host


class Keeps:
    def __init__(self, gateway: Gateway) -> None:
        self._gateway, self._made = gateway, None

    def cache(self) -> Any:
        gate, name = self._gateway, self._gateway.config.cache
        if self._made is None and name not in (None, "none"):
            self._made = gate.plugins.made("cache", name, gate.loaded, gate.state, store=gate.store)
        return self._made

    async def keep(self, program: Program, known: Mapping[str, Any], outcome: Outcome) -> Outcome:
        same = json.dumps([program.code, program.language])
        id = f"{abs(hash((program.principal, same))):012}"
        kept = CachedProgram(id, program.principal, program.code, program.description, dict(known), program.functions,
                             {}, same, time.time(), program.language)  # fmt: skip
        try:
            cache = self.cache()
        except DoorwardError:
            return outcome
        return self.repeated(outcome, await cache.put(kept), known) if cache else outcome

    async def get(self, cache_id: str, principal: str) -> CachedProgram:
        cache = self.cache()
        found: CachedProgram | None = await cache.get(cache_id, principal) if cache else None
        if found is None:
            raise UnknownName(f"there is no cached program {cache_id!r} (any more)")
        return found

    async def find(self, queries: Sequence[str], principal: str) -> Sequence[Mapping[str, Any]]:
        return ()

    def repeated(self, outcome: Outcome, cache_id: str, params: Mapping[str, Any]) -> Outcome:
        return replace(outcome, cache_id=cache_id, next=f'run_cached_code("{cache_id}", {json.dumps(dict(params))})')


class SimpleCache:
    Settings = Settings

    def __init__(self, context: Any) -> None: ...

    @hookimpl
    def gateway_made(self, gateway: Gateway) -> None:
        gateway.services.give(KEPT_PROGRAMS, Keeps(gateway))


def install(host: Host) -> None:
    """Let a host keep programs: core's defaults name this plugin."""
    host.install("plugin", "kept_programs", SimpleCache, distribution="simple-cache")
