"""What the configuration of a server leaves of a compile: nothing is stored that may not be used."""

from __future__ import annotations

from dataclasses import replace

from doorward.exposed import ADVISED
from doorward.policy import selected, wanted
from doorward.settings import ServerSettings
from doorward.types import Compiled, Function, Skipped


def narrowed(compiled: Compiled, settings: ServerSettings) -> Compiled:
    """The compile without what `include`, `exclude` and `read_only` leave out, with warnings about patterns that fit nothing."""
    warnings = list(compiled.warnings)
    kept = [f for f in compiled.functions if wanted(f, settings)]
    for key, patterns, among in (
        ("include", settings.include or (), compiled.functions),
        ("exclude", settings.exclude, compiled.functions),
        ("expose", settings.expose, kept),
    ):
        warnings += [f"{key}: {p!r} fits no function" for p in patterns if not any(selected(f, [p]) for f in among)]
    if (count := sum(selected(f, settings.expose) for f in kept)) > ADVISED:
        warnings.append(f"expose: {count} functions become tools; each costs every client tokens, and one is often enough")
    unique: dict[str, Function] = {}
    for function in kept:
        unique.setdefault(function.name, function)
    skipped = [Skipped(f.id, f"the name {f.name} is taken") for f in kept if unique[f.name] is not f]
    return replace(compiled, functions=[*unique.values()], warnings=warnings, skipped=[*compiled.skipped, *skipped])
