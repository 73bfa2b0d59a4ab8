"""Writes the package of a new plugin from the templates of its kind."""

from __future__ import annotations

import importlib.util
import keyword
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from doorward import ConfigError, __version__
from doorward.configuration import Index, installed
from doorward_cli import known_commands
from packaging.version import Version

from doorward_testing.authoring.kinds import EVERY, TEMPLATES, Kind

MAX_NAME_CHARACTERS = 24
_NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
_DISTRIBUTION = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?")
_PLACEHOLDER = re.compile(r"@([A-Za-z_]+)@")
_SUFFIX = ".txt"
"""What a template's name has besides: nothing takes it for the code, or the tests, of this package."""


@dataclass(frozen=True, slots=True)
class Package:
    """A plugin that is to be written: its kind, and its names. `name` is its word in the configuration."""

    kind: Kind
    name: str
    distribution: str
    package: str
    folder: Path
    license: str = ""

    def write(self) -> list[Path]:
        """Write all files into a folder that is not there yet. Returns: the files, relative to it.

        Raises: ConfigError.
        """
        files = dict(self._files())
        try:
            self.folder.mkdir()
            for path, text in files.items():
                (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
                (self.folder / path).write_text(text, encoding="utf-8")
        except FileExistsError:
            raise ConfigError(
                f"{self.folder} is there already", hint="Nothing is overwritten: name another one with --folder."
            ) from None
        except OSError as error:
            raise ConfigError(f"{self.folder} cannot be made: {error.strerror}") from None
        return sorted(files)

    def _files(self) -> Iterator[tuple[Path, str]]:
        for folder in (TEMPLATES / EVERY, self.kind.folder):
            for file in sorted(folder.rglob(f"*{_SUFFIX}")):
                path = self.filled(str(file.relative_to(folder)).removesuffix(_SUFFIX))
                yield Path(path), self.filled(file.read_text(encoding="utf-8"))

    def filled(self, text: str) -> str:
        """A text of a template with the names of this package. Raises: KeyError for a placeholder that is none."""
        given = self._given()
        return _PLACEHOLDER.sub(lambda match: given[match[1]], text)

    def _given(self) -> dict[str, str]:
        Name = "".join(word.capitalize() for word in self.name.split("_"))
        given = {
            "kind": self.kind.name, "group": self.kind.group, "name": self.name, "Name": Name,
            "NAME": self.name.upper(), "distribution": self.distribution, "package": self.package,
            "range": versions(), "pin": f"=={__version__}",
            "license": f'license = "{self.license}"\n' if self.license else "",
        }  # fmt: skip

        def inner(text: str) -> str:
            return _PLACEHOLDER.sub(lambda match: given[match[1]], text)

        target = inner(self.kind.target)
        return given | {
            "about": inner(self.kind.about),
            "target": f"{self.package}:{target}" if target else self.package,
            "requires": _list([f"doorward{versions()}", *map(inner, self.kind.requires)]),
            "test_requires": _list([f"doorward-testing{versions()}", *map(inner, self.kind.test_requires)]),
        }


def planned(
    kind: Kind,
    name: str,
    *,
    prefix: str,
    distribution: str = "",
    package: str = "",
    folder: str = "",
    license: str = "",
) -> Package:
    """The package of a new plugin; names that are not given follow from `prefix` and the kind.

    Raises: ConfigError for a name that cannot be used, or is taken.
    """
    plain = name.replace("-", "_")
    _check_word(plain, f"{name!r} is no name for a plugin")
    if not distribution:
        _check_word(prefix, f"{prefix!r} is no prefix")
    made = kind.distribution.replace("@prefix@", prefix).replace("@name@", plain.replace("_", "-"))
    distribution = distribution or made
    package = package or distribution.lower().replace("-", "_").replace(".", "_")
    planned = Package(kind, plain, distribution, package, Path(folder or distribution), license)
    _check_free(planned)
    return planned


def _check_word(word: str, wrong: str) -> None:
    if not _NAME.fullmatch(word) or len(word) > MAX_NAME_CHARACTERS:
        near = re.sub(r"[^a-z0-9]+", "_", word.lower()).strip("_0123456789")[:MAX_NAME_CHARACTERS].strip("_")
        raise ConfigError(
            wrong,
            hint=f"Small letters, digits and _, a letter first, {MAX_NAME_CHARACTERS} characters at most"
            + (f": {near}" if near else "."),
        )


def _check_free(plan: Package) -> None:
    """Raises: ConfigError if a name is none, or something else has it."""
    kind, name, package = plan.kind, plan.name, plan.package
    if name in kind.taken or (kind.group == "doorward.command" and name in known_commands()):
        raise ConfigError(f"{name!r} is a name of Doorward's own for a {kind.name}", hint="Take another one.")
    for entry in Index(installed()).entries:
        if entry.point.group == kind.group and entry.name == name:
            raise ConfigError(
                f"{kind.group} {name!r} is given by {entry.given_by}, which is installed",
                hint="Two plugins of one name cannot be used together: take another one.",
            )
    if not _DISTRIBUTION.fullmatch(plan.distribution):
        raise ConfigError(f"{plan.distribution!r} is no name for a distribution", hint="Like acme-doorward-notes.")
    if not package.isidentifier() or keyword.iskeyword(package) or not package.isascii():
        raise ConfigError(f"{package!r} is no name for a package", hint="Name one with --package: acme_doorward_notes.")
    if package in sys.stdlib_module_names or importlib.util.find_spec(package):
        raise ConfigError(f"there is a package {package!r} on this machine", hint="Name another one with --package.")
    try:
        found = distribution(plan.distribution)
    except PackageNotFoundError:
        return
    raise ConfigError(
        f"{found.metadata['Name']} {found.version} is installed", hint="Name another one with --distribution."
    )


def versions() -> str:
    """The versions of Doorward that a plugin made now is for."""
    version = Version(__version__)
    below = f"{version.major + 1}" if version.major else f"0.{version.minor + 1}"
    return f">={version.base_version if version.is_prerelease else f'{version.major}.{version.minor}'},<{below}"


def _list(requirements: list[str]) -> str:
    return ", ".join(f'"{requirement}"' for requirement in requirements)
