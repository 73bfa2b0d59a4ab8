"""What can be said of a plugin by its metadata, without importing it."""

from __future__ import annotations

import platform
import re
from collections.abc import Iterator
from difflib import get_close_matches

from doorward import __version__
from doorward.configuration import Index, installed
from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import canonicalize_name

from doorward_testing.authoring.candidate import KIND_OF, OWNED, Candidate
from doorward_testing.authoring.findings import Found
from doorward_testing.authoring.kinds import kinds

_NAME = re.compile(r"[A-Za-z0-9_][\w-]*")
_VALUE = re.compile(r"[\w.]+(:[\w.]+)?")


def metadata(candidate: Candidate) -> Iterator[Found]:
    """What its distribution says: for which Doorward and which Python it is."""
    yield _of_doorward(candidate)
    python, wanted = platform.python_version(), candidate.requires_python
    try:
        fits = SpecifierSet(wanted).contains(python, prereleases=True)
    except InvalidSpecifier:
        yield Found(
            "wrong", "Python", f"requires-python = {wanted!r} cannot be read", 'Write requires-python = ">=3.11".'
        )
        return
    if not wanted:
        yield Found("to do", "Python", "says nothing of Python", 'Write requires-python = ">=3.11" below [project].')
    elif not fits:
        yield Found("wrong", "Python", f"is for Python {wanted}, this is {python}", "Use another Python, or change it.")
    else:
        yield Found("ok", "Python", f"is for Python {wanted}")


def _of_doorward(candidate: Candidate) -> Found:
    check, fitting = "dependencies", f'Write "doorward{_fitting()}" among the dependencies.'
    found = None
    for text in candidate.requires:
        try:
            requirement = Requirement(text)
        except InvalidRequirement as error:
            return Found("wrong", check, f"{text!r} is no requirement: {str(error).splitlines()[0]}", "Fix it.")
        if requirement.name.lower() == "doorward" and not requirement.marker:
            found = requirement
    if found is None:
        return Found("to do", check, "does not depend on doorward", fitting)
    if not found.specifier.contains(__version__, prereleases=True):
        return Found("wrong", check, f"is for doorward{found.specifier}, this is {__version__}", fitting)
    if not any(part.operator in ("<", "<=", "==", "~=", "===") for part in found.specifier):
        return Found("to do", check, f"is for every later Doorward: doorward{found.specifier}", fitting)
    return Found("ok", check, f"is for doorward{found.specifier}")


def _fitting() -> str:
    from doorward_testing.authoring.package import versions

    return versions()


def entry_points(candidate: Candidate) -> Iterator[Found]:
    """What is wrong with the entry points as they are written."""
    if not candidate.points:
        groups = ", ".join(sorted(KIND_OF))
        yield Found("wrong", "entry points", "has none of Doorward's", f"Give one in one of the groups: {groups}.")
    for point in candidate.points:
        check = f"{point.group} {point.name}"
        if point.group not in KIND_OF:
            yield Found(
                "wrong", check, f"there is no group {point.group!r}, so this is never found", _meant(point.group)
            )
        elif not _NAME.fullmatch(point.name):
            yield Found("wrong", check, "this name cannot be written in a configuration", "Letters, digits, _ and -.")
        elif not _VALUE.fullmatch(point.value):
            yield Found(
                "wrong", check, f"{point.value!r} names nothing in Python", 'Write "package" or "package:Name".'
            )
        else:
            yield from _twice(candidate, check, KIND_OF[point.group], point.name)
            yield from _owner(candidate, check, KIND_OF[point.group], point.name)


def _meant(group: str) -> str:
    """Which group was meant by one that there is not: by its own word, or by that of a kind."""
    words = {kind.name: kind.group for kind in kinds().values()} | {name.split(".")[1]: name for name in KIND_OF}
    near = get_close_matches(re.split(r"[^a-z]", group.lower())[-1], words, n=1)
    return f"Did you mean {words[near[0]]}?" if near else f"There are {', '.join(sorted(KIND_OF))}."


def _owner(candidate: Candidate, check: str, kind: str, name: str) -> Iterator[Found]:
    """Whether a table, or a key of servers, belongs to one hook plugin, or to commands."""
    plugins = [point.name for point in candidate.points if KIND_OF.get(point.group) == "plugin"]
    commands = not plugins and any(KIND_OF.get(point.group) == "command" for point in candidate.points)
    if kind in OWNED and name not in plugins and len(plugins) != 1 and not commands:
        do = "Whoever has it in the configuration uses the plugin that is called so, or the only one."
        yield Found("wrong", check, f"belongs to one of {len(plugins)} hook plugins", do)


def _twice(candidate: Candidate, check: str, kind: str, name: str) -> Iterator[Found]:
    others = [
        entry.given_by
        for entry in Index(installed()).named(kind, name)
        if canonicalize_name(entry.distribution) != canonicalize_name(candidate.distribution)
    ]
    if others:
        yield Found("wrong", check, f"is given by {' and '.join(others)}, too", "Take another name, or uninstall it.")
