"""The plugin: after each compile, what has changed since the last review is held back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from doorward import Function, Gateway, PluginContext, Refused, Service, UnknownName, hookimpl
from doorward.administration import selected
from doorward.configuration import module_name
from doorward.deciding import Effects

from doorward_pins.lock_file import LockFile, PinnedServer
from doorward_pins.review import Difference, Review
from doorward_pins.settings import PinsSettings


@dataclass(frozen=True, slots=True)
class Upstream:
    """The functions of a server as its document has them now, and their definitions."""

    functions: Sequence[Function]
    definitions: dict[str, Any]


PINS = Service["Pins"]("what holds changed functions back", "doorward-pins")


class Pins:
    """Serves functions as they were last reviewed. Only `accept` changes what is pinned."""

    def __init__(self, context: PluginContext[Any]) -> None:
        self._settings: PinsSettings = context.tables.get("pins") or PinsSettings()
        self.lock = LockFile(context.folder / self._settings.file.expanduser())
        self._effects = Effects({})
        self._upstream: dict[str, Upstream] = {}

    @hookimpl
    def gateway_made(self, gateway: Gateway) -> None:
        gateway.services.give(PINS, self)
        self._effects = Effects(gateway.config.policy.classes)

    @hookimpl(trylast=True)
    def source_compiled(self, server: str, functions: list[Function], definitions: dict[str, Any]) -> None:
        """Raises: ConfigError if the lock file cannot be used: nothing of this compile is served then."""
        module = module_name(server)
        self._upstream[module] = Upstream(tuple(functions), dict(definitions))
        if (review := self.review(module)) is not None:
            functions[:], more = review.served()
            definitions.update(more)

    @hookimpl
    def compile_warnings(self, server: str, functions: list[Function]) -> list[str]:
        review = self.review(module_name(server))
        if review is None:
            return [f"pins: none of its functions are pinned: see `doorward pins {server}`, then add `--accept`"]
        waiting = sum(each.waits for each in review.differences)
        return (
            [f"pins: changed functions wait for a review ({waiting}): see `doorward pins {server}`"] if waiting else []
        )

    def review(self, module: str) -> Review | None:
        """The review of what a server had at its last compile in this process; `None` if none of it is pinned or
        compiled. Raises: ConfigError."""
        pinned, upstream = self.lock.read().get(module), self._upstream.get(module)
        if pinned is None or upstream is None:
            return None
        return Review(pinned, upstream.functions, upstream.definitions, self._effects.of, self._settings.allow)

    def waiting(self) -> list[dict[str, Any]]:
        """The functions whose changes wait for a review, of all servers that this process has compiled: `{"function",
        "version", "changes", "was", "now"}`, with the kind of each change and what it is, and the texts as they were
        reviewed and are; the version is another one when the function or its review is. Raises: ConfigError."""
        reviews = {module: self.review(module) for module in self._upstream}
        return [
            {
                "function": f"{module}.{each.function}",
                "version": review.version(each.function),
                **dict(zip(("was", "now"), review.texts(each.function), strict=True)),
                "changes": [{"kind": change.kind, "what": change.what} for change in each.changes],
            }
            for module, review in reviews.items()
            if review is not None
            for each in review.differences
            if each.waits
        ]

    def accept_version(self, function: str, version: str) -> None:
        """Pin one function that waits, as it was shown. Raises: UnknownName if it does not wait; Refused if it has
        changed since; ConfigError."""
        waiting = {each["function"]: each["version"] for each in self.waiting()}
        if function not in waiting:
            raise UnknownName(f"no change of {function} waits for a review (any more)")
        if waiting[function] != version:
            raise Refused(f"{function} has changed since it was shown", hint="Look at it once more.")
        module, _, name = function.partition(".")
        self.accept(module, [name])

    def accept(self, module: str, patterns: Iterable[str] = ()) -> list[str]:
        """Pin the functions of a server as its last compile had them: all, or those that fit a pattern. Returns: the
        names of those that changed. Raises: ConfigError."""
        upstream, servers, patterns = self._upstream[module], self.lock.read(), [*patterns]
        before = servers.get(module) or PinnedServer()
        review = Review(before, upstream.functions, upstream.definitions, self._effects.of, ())
        changed = [each.function for each in review.differences if is_asked(module, each, patterns)]
        now = before if patterns else PinnedServer()
        functions = {each.name: each for each in upstream.functions}
        for name in changed if patterns else functions:
            if name in functions:
                now.pin(functions[name], upstream.definitions)
            else:
                now.functions.pop(name, None)
        now.drop_unused_definitions()
        self.lock.write(servers | {module: now})
        return changed


def is_asked(module: str, difference: Difference, patterns: Sequence[str]) -> bool:
    """Whether a difference is of a function that one of these patterns means; all do if there is none."""
    return not patterns or selected(Function(module, difference.function), patterns)
