"""The functions that a server's configuration lets through, and their names: functions that may not be used are not
even stored."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from doorward.access.policy import wanted
from doorward.access.rules import selected
from doorward.config.settings import ServerSettings
from doorward.model.decisions import Effect, effect
from doorward.model.functions import Compiled, Function, Skipped
from doorward.model.names import Named, brief_names, kept_names, other_names
from doorward.servers.corrections import corrected

MAX_ADVISED_TOOLS = 3
"""If more functions of one server become tools, `compile` warns: each takes room in every client's context."""


def narrowed(
    compiled: Compiled, settings: ServerSettings, effect_of: Callable[[Function], Effect] = effect
) -> Compiled:
    """The corrected compile, without the functions that `include`, `exclude` and `read_only` leave out, and with
    warnings about patterns that fit nothing and calls that undo nothing."""
    compiled = corrected(compiled, settings)
    warnings = list(compiled.warnings)
    kept = [f for f in compiled.functions if wanted(f, settings, effect_of)]
    for key, patterns, among in (
        ("include", settings.include or (), compiled.functions),
        ("exclude", settings.exclude, compiled.functions),
        ("expose", settings.expose, kept),
    ):
        warnings += [f"{key}: {p!r} fits no function" for p in patterns if not any(selected(f, [p]) for f in among)]
    if (count := sum(selected(f, settings.expose) for f in kept)) > MAX_ADVISED_TOOLS:
        warnings.append(
            f"expose: {count} functions become tools; each costs every client tokens, and one is often enough"
        )
    unique: dict[str, Function] = {}
    for function in kept:
        unique.setdefault(function.name, function)
    if settings.undo:
        from doorward.servers.undo_checks import wrong_inverses

        warnings += wrong_inverses(settings.undo, unique)
    skipped = [Skipped(f.id, f"the name {f.name} is taken") for f in kept if unique[f.name] is not f]
    return replace(compiled, functions=[*unique.values()], warnings=warnings, skipped=[*compiled.skipped, *skipped])


def renamed(functions: Sequence[Function], before: Iterable[Named]) -> list[Function]:
    """The functions with shorter names, without repetition. A function that was in the catalog `before` keeps its name,
    whatever its server adds."""
    made = _named(functions)
    names = kept_names([f._replace(name=brief) for f, brief in zip(made, brief_names(made), strict=True)], before)
    return [f if f.name == name else replace(f, name=name) for f, name in zip(functions, names, strict=True)]


def otherwise_called(functions: Sequence[Function]) -> list[Function]:
    """The functions with aliases: other names by which programs may mean them."""
    others = other_names(_named(functions))
    return [replace(f, aliases=(*f.aliases, *also)) if also else f for f, also in zip(functions, others, strict=True)]


def _named(functions: Iterable[Function]) -> list[Named]:
    return [Named(f.name, f.id, f.route) for f in functions]
