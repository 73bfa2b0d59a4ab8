"""Says what to install for a plugin that is not there."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.metadata import requires
from pathlib import Path

_NAME_PREFIXES = {
    "executor": "sandbox",
    "auth": "auth",
    "store": "store",
    "cache": "cache",
    "plugin": "guard",
    "search_view": "search",
}
"""By our naming rule, the word before the plugin's name in the name of its distribution. Sources have none."""


def to_install(kind: str, name: str, installed: Sequence[str]) -> str:
    """A hint: what to install, or which name was meant. It names only distributions that are extras of core, because a
    guessed name could belong to anybody."""
    import difflib  # late, because `doorward --help` does not need it

    packages = _packages()
    called = f"doorward-{_NAME_PREFIXES[kind]}-" if kind in _NAME_PREFIXES else "doorward-"
    if (package := f"{called}{name.replace('_', '-')}") in packages:
        return f"`pip install {package}` brings it."
    if hint := brought(name):
        return hint
    ours = [
        package.removeprefix(called) for package in packages if kind in _NAME_PREFIXES and package.startswith(called)
    ]
    if near := difflib.get_close_matches(name, [*installed, *ours], n=1, cutoff=0.7):
        return f"Did you mean {near[0]!r}?" + ("" if near[0] in installed else f" {to_install(kind, near[0], ())}")
    return "Install the distribution that brings it; `pip install doorward[standard]` brings the usual ones."


def owner_brought(kind: str, name: str) -> str:
    """What brings the owner of a table or of a key of servers, or what a rule needs that says `then`; "" if that is not
    known."""
    package = owned()[kind].get(name)
    return f"`pip install {package}` brings it." if package else ""


def capability_brought(kind: str, name: str) -> str:
    """The same for what a capability does that is not in use."""
    return f"{owner_brought(kind, name)} `capabilities` of the configuration must name it, if it is set there."


@cache
def owned() -> Mapping[str, Mapping[str, str]]:
    """The distributions of ours that own something, by its kind and name. "managed" has the kinds of entry points, and
    the variables, that mean something to a manager of the configuration only."""
    import json  # importlib.metadata has it already

    found: dict[str, dict[str, str]] = json.loads(Path(__file__).with_name("owned.json").read_text(encoding="utf-8"))
    return found


def brought(name: str) -> str:
    """What brings something of this name: one that is known to have such a plugin, a distribution that is called so, or
    an extra of core; "" if nothing does."""
    if owner := owner_brought("plugin", name):
        return owner
    if (package := f"doorward-{name.replace('_', '-')}") in _packages():
        return f"`pip install {package}` brings it."
    extra = re.compile(rf"extra == [\"']{re.escape(name)}[\"']")
    found = any(extra.search(requirement) for requirement in _requirements())
    return f"`pip install doorward[{name}]` brings it." if found else ""


@cache
def _requirements() -> tuple[str, ...]:
    """What core and its extras need: to read that of the metadata takes as long as all else of a small gateway."""
    return tuple(requires("doorward") or ())


def _packages() -> list[str]:
    return [re.split(r"[^\w-]", requirement)[0] for requirement in _requirements()]


def executors_of(extra: str = "") -> dict[str, str]:
    """The executors that an extra of core brings (all, if none is named), each with its distribution. Those that run
    another language than Python are in an extra of its name."""
    before = f"doorward-{_NAME_PREFIXES['executor']}-"
    wanted = re.compile(r"([\w-]+).*; extra == ['\"]([^'\"]+)['\"]")
    found = (match for requirement in _requirements() if (match := wanted.fullmatch(requirement)))
    packages = [match[1] for match in found if extra in ("", match[2])]
    return {package.removeprefix(before): package for package in packages if package.startswith(before)}
