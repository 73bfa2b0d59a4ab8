"""What is installed of the active distribution: its pins, and everything below them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution

from doorward.configuration import canonical
from packaging.requirements import Requirement

from doorward_dist.distribution import Distribution
from doorward_dist.pinned_files import BY_RECORD


@dataclass(frozen=True)
class Pin:
    """A requirement of the distribution, what is installed of it, and the hash of its files."""

    requirement: Requirement
    installed: str
    files: str

    @property
    def name(self) -> str:
        return canonical(self.requirement.name)

    @property
    def fits(self) -> bool:
        return bool(self.installed) and self.requirement.specifier.contains(self.installed, prereleases=True)


def pins(active: Distribution) -> list[Pin]:
    """What the distribution requires, by name."""
    hashes = {canonical(name): pinned for name, pinned in active.manifest.files.items()}
    found = map(Requirement, distribution(active.entry.distribution).requires or ())
    listed = [Pin(each, version(each.name), hashes.get(canonical(each.name), BY_RECORD)) for each in found]
    return sorted(listed, key=lambda pin: pin.name)


def version(name: str) -> str:
    """The installed version of a package, or nothing."""
    try:
        return distribution(name).version
    except PackageNotFoundError:
        return ""


def below(name: str) -> set[str]:
    """A package and all that it needs in this environment, whether that is installed or not."""
    found: dict[str, set[str]] = {}
    todo: list[tuple[str, set[str]]] = [(canonical(name), set())]
    while todo:
        each, extras = todo.pop()
        if each in found and extras <= found[each]:
            continue
        found[each] = found.get(each, set()) | extras
        todo += list(_needs(each, found[each]))
    return set(found)


def _needs(name: str, extras: set[str]) -> Iterator[tuple[str, set[str]]]:
    if not version(name):
        return
    for requirement in map(Requirement, distribution(name).requires or ()):
        marker = requirement.marker
        if marker is None or any(marker.evaluate({"extra": extra}) for extra in ("", *extras)):
            yield canonical(requirement.name), requirement.extras
