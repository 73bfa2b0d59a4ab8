"""Keeps programs that succeeded for `run_cached_code`, and checks them against the catalog before they run again."""

from __future__ import annotations

import asyncio
import json
import time
from base64 import urlsafe_b64encode
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from hashlib import blake2b, sha256
from typing import Any, Protocol, runtime_checkable

from doorward import Cache, ConfigError, Gateway, InvalidProgram, Outcome, Program, UnknownName, Unsupported, log
from doorward.administration import Unfit, dump_json, expected, json_digest
from doorward.sandboxing import CachedProgram, json_type

from doorward_cache_sqlite.drafts import draft_of
from doorward_cache_sqlite.saved_programs import SavedPrograms
from doorward_cache_sqlite.saves_programs import Draft

PYTHON = "python"
"""The language that was the only one once."""

MAX_PARAMS_BYTES = 2**18
"""Bytes of a program's parameters; a program with more is not kept."""

KEEP_WAIT_SECONDS = 5.0
"""Seconds that an answer waits for its program to be kept: the first one, and the first after a failure. A busy machine
takes more than half a second to write to its disk."""

MAX_PENDING = 100
"""Programs for which answers do not wait until they are kept."""

NOT_KEPT_NOTE = "this program could not be kept for run_cached_code"


@runtime_checkable
class ListsPrograms(Protocol):
    """A cache whose programs an operator can list and remove."""

    async def all(self, principal: str | None = None) -> Sequence[CachedProgram]:
        """The programs of a principal, or of all, those used last first."""

    async def remove(self, program: CachedProgram) -> None:
        """Forget a program."""


class KeptPrograms:
    """A `KeepsPrograms`, with the configured cache, which is made when first needed. Without a cache nothing is kept,
    and everything else works."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway, self._loaded, self._plugins = gateway, gateway.loaded, gateway.plugins
        self._name = gateway.config.cache or ""
        self._cache: Cache | None = None
        self.saved = SavedPrograms(gateway)
        self._pending: dict[str, asyncio.Future[str]] = {}
        self._quick = False

    async def keep(self, program: Program, known: Mapping[str, Any], outcome: Outcome) -> Outcome:
        """The outcome with the id of its program, which is kept; `known` are the parameters with their values."""
        try:
            if self._plugins.hook.keep_program(program=program, outcome=outcome) is False:
                return outcome
            cache = self._made()
            if cache is None or len(dump_json(dict(known))) > MAX_PARAMS_BYTES:
                return outcome
            kept = CachedProgram(
                cache_id=_id(program.principal, same := json_digest(*_same(program), sorted(known))),
                principal=program.principal,
                code=program.code,
                description=program.description,
                params=dict(known),
                functions=program.functions,
                uses={c["function"]: self.saved.hash(c["function"]) for c in outcome.calls},
                digest=same,
                created=time.time(),
                language=program.language,
            )
            cache_id = await self._put(cache, kept)
        except Exception as error:  # the run has succeeded: a failing cache must not undo that
            log.error("cache_failed", cache=self._name, error=repr(error))
            return replace(outcome, notes=(*outcome.notes, f"{NOT_KEPT_NOTE}: the operator's log says why"))
        if cache_id is None:
            return replace(outcome, notes=(*outcome.notes, f"{NOT_KEPT_NOTE}: the cache is busy"))
        return replace(outcome, cache_id=cache_id, next=again(cache_id, known))

    def repeated(self, outcome: Outcome, cache_id: str, params: Mapping[str, Any]) -> Outcome:
        """The outcome of a kept program that ran with these values: it stays under its id."""
        return replace(outcome, cache_id=cache_id, next=again(cache_id, params)) if outcome.ok else outcome

    async def find(self, queries: Sequence[str], principal: str) -> Sequence[Mapping[str, Any]]:
        """See `doorward.sandboxing.KeepsPrograms`."""
        return await self.saved.find(queries, principal)

    async def using(self, functions: Collection[str]) -> Sequence[Mapping[str, Any]]:
        """See `doorward.sandboxing.KeepsPrograms`."""
        cache = self._made()
        saved = []
        for name in self.saved.names():
            try:
                saved.append((self.saved.require(name, ""), what_helps(name)))
            except ConfigError as error:
                log.warning("saved_program_unreadable", program=name, why=error.message, hint=error.hint)
        listed: Sequence[CachedProgram] = await cache.all() if isinstance(cache, ListsPrograms) else ()
        others = [(program, "Its agent runs it again with execute_code.") for program in listed]
        return [
            {"program": each.cache_id, "principal": each.principal, "uses": {**each.uses}, "advice": advice}
            for each, advice in (*saved, *others)
            if not each.uses.keys().isdisjoint(functions)
        ]

    async def all(self, principal: str | None = None) -> Sequence[CachedProgram]:
        """The programs in the cache, those used last first. Raises: Unsupported if it cannot list them."""
        return await self._listing().all(principal)

    async def forget(self, program: CachedProgram) -> None:
        """Remove a program from the cache. Raises: Unsupported, StateError."""
        await self._listing().remove(program)

    async def draft(self, principal: str, code_sha256: str, name: str, description: str = "") -> Draft:
        """See `SavesPrograms`."""
        for program in await self.all(principal):
            if sha256(program.code.encode(errors="surrogatepass")).hexdigest() == code_sha256:
                return await draft_of(self._gateway, self.saved, program, name, description)
        raise UnknownName(
            "its program is not kept (any more)", hint="A program that succeeded is, for an hour after its last use."
        )

    def _listing(self) -> ListsPrograms:
        cache = self._made()
        if not isinstance(cache, ListsPrograms):
            raise Unsupported(f"the cache {self._name or 'none'} does not list its programs")
        return cache

    async def _put(self, cache: Cache, kept: CachedProgram) -> str | None:
        """The id of the program; `None` if to keep it takes too long. Until it is done, other runs do not wait for the
        cache.

        A cache that kept the last program, under the id that was proposed, is not waited for. It is where machines
        share the store: the next request may come to another one, or this one die."""
        quick = self._quick and len(self._pending) < MAX_PENDING
        if self._pending and not quick:
            return None
        putting = asyncio.ensure_future(self._kept(cache, kept))
        self._pending[kept.cache_id] = putting
        putting.add_done_callback(partial(self._done, kept.cache_id))
        if quick and not getattr(self._gateway.store, "distributed", False):
            return kept.cache_id
        await asyncio.wait({putting}, timeout=KEEP_WAIT_SECONDS)
        if putting.done():
            return putting.result()
        log.warning("cache_busy", hint="Programs are not kept until it is done.")
        return None

    async def _kept(self, cache: Cache, program: CachedProgram) -> str:
        with self._plugins.blamed("cache", self._name, "put"):
            return expected(str, await cache.put(program))

    def _done(self, proposed: str, putting: asyncio.Future[str]) -> None:
        if self._pending.get(proposed) is putting:
            del self._pending[proposed]
        error = None if putting.cancelled() else putting.exception()
        waited_for = not self._quick
        self._quick = not putting.cancelled() and error is None and putting.result() == proposed
        if error is not None and not waited_for:
            log.error("cache_failed", cache=self._name, error=repr(error))

    async def get(self, cache_id: str, principal: str) -> CachedProgram:
        """A kept program.

        Raises: UnknownName; InvalidProgram if a function that it uses is gone or has changed; ConfigError if the cache
        fails.
        """
        cache, kept = self._made(), self.saved.get(cache_id, principal)
        if kept is None and cache and cache_id.isascii():
            if pending := self._pending.get(cache_id):
                await asyncio.wait({pending}, timeout=KEEP_WAIT_SECONDS)
            with self._plugins.blamed("cache", self._name, "get"):
                if (kept := await cache.get(cache_id, principal)) is not None:
                    expected(CachedProgram, kept)
                if kept and kept.principal != principal:
                    raise Unfit("it answered the program of another principal")
        if kept is None or len(kept.code.encode(errors="surrogatepass")) > self._gateway.limits.code_bytes:
            hint = "Run it with execute_code, and use the cache_id of the answer; operators: `doorward save`."
            raise UnknownName(f"there is no cached program {cache_id[:80]!r} (any more)", hint=hint)
        gone, changed = self.breaks(kept)
        if gone:
            hint = "See list_servers: perhaps its server is not compiled now."
            raise InvalidProgram(f"{', '.join(gone)}: not there any more", hint=hint)
        if changed:
            hint = "See get_functions, and run the program again with execute_code."
            if self.saved.get(cache_id, principal) is not None:
                hint = what_helps(cache_id)
            raise InvalidProgram(f"{', '.join(changed)} changed since this program was kept", hint=hint)
        return kept

    def breaks(self, program: CachedProgram) -> tuple[list[str], list[str]]:
        """The functions that a program uses and that are gone; and those with other schemas than when it was kept."""
        now = {name: self.saved.hash(name) for name in program.uses}
        gone = [name for name, hash in now.items() if not hash]
        return gone, [name for name, then in program.uses.items() if now[name] not in ("", then)]

    async def close(self) -> None:
        if self._pending:
            await asyncio.wait(self._pending.values(), timeout=KEEP_WAIT_SECONDS)
        if self._cache is not None:
            await self._plugins.failures.closed(self._plugins.id("cache", self._name), self._cache)

    def _made(self) -> Cache | None:
        """The cache; `None` if it is the default one and not installed. Raises: PluginError, ConfigError."""
        name = self._name
        if self._cache is None and name and name != "none":
            if "cache" not in self._loaded.named and not self._plugins.index.named("cache", name):
                return None
            self._cache = self._plugins.made(
                "cache", name, self._loaded, self._gateway.state, store=self._gateway.store
            )
        return self._cache


def what_helps(name: str) -> str:
    """What an operator does about a saved program whose functions have changed."""
    return f"doorward programs test {name} --record runs it now, and records that; --accept takes them as they are."


def _id(principal: str, same: str) -> str:
    """The id of a program, so that it is known before the program is kept. It is no secret: only its principal can use
    it."""
    return urlsafe_b64encode(blake2b(f"{principal}\n{same}".encode(), digest_size=9).digest()).decode()


def _same(program: Program) -> tuple[Any, ...]:
    """What makes a program the same as another one. Python is not named."""
    return program.code, program.functions, *([] if program.language == PYTHON else [program.language])


def again(cache_id: str, params: Mapping[str, Any]) -> str:
    """The exact call to make next time. Large parameters, which keep their values if they are left out, appear as a
    comment with their names."""
    shown = {k: v for k, v in list(params.items())[:10] if len(dump_json(v)) <= 200}
    others = [f"{k}: {json_type(v)}" for k, v in params.items() if k not in shown]
    more = f"  # and {', '.join(others[:20])}{' …' if len(others) > 20 else ''}" if others else ""
    return f"run_cached_code({json.dumps(cache_id)}, {json.dumps(shown, ensure_ascii=False)}){more}"
