"""The functions that a server's configuration lets through, and their names: functions that may not be used are not
even stored."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from doorward.access.policy import left_out_by
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
) -> tuple[Compiled, dict[str, list[str]]]:
    """The corrected compile, without the functions that `include`, `exclude` and `read_only` leave out, and with
    warnings about patterns that fit nothing; and the names of those left out, by key."""
    compiled = corrected(compiled, settings)
    warnings = list(compiled.warnings)
    kept: list[Function] = []
    left_out: dict[str, list[str]] = {}
    for function in compiled.functions:
        if key := left_out_by(function, settings, effect_of):
            left_out.setdefault(key, []).append(function.name)
        else:
            kept.append(function)
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
    skipped = [Skipped(f.id, f"the name {f.name} is taken") for f in kept if unique[f.name] is not f]
    skipped = [*compiled.skipped, *skipped]
    return replace(compiled, functions=[*unique.values()], warnings=warnings, skipped=skipped), left_out


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
