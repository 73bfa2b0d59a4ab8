"""Everything below a distribution, pinned: hashed requirements for pip, and a bill of materials (CycloneDX)."""

from __future__ import annotations

import platform
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple
from uuid import NAMESPACE_URL, uuid5

from doorward import ConfigError
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from doorward_dist import wheels
from doorward_dist.wheels import Wheel

REQUIREMENTS = "requirements.txt"
SBOM = "sbom.cdx.json"

_LINE = re.compile(r"^(?P<name>[A-Za-z0-9._-]+)==(?P<version>\S+)(?:.*# files (?P<files>sha256:[0-9a-f]{64}))?")


class Locked(NamedTuple):
    """A line of the lock: a version, and the hash of the files that it installs."""

    version: str
    files: str


def write(wheel: Path, into: Path, links: Sequence[Path]) -> list[Path]:
    """Resolve with pip what the distribution needs on this platform, and write the lock. Raises: ConfigError."""
    wheels.require("cyclonedx")
    with tempfile.TemporaryDirectory() as temporary:
        found = wheels.download([str(wheel.resolve())], Path(temporary), links, alone=False)
    top = wheels.read(wheel)
    files = [into / REQUIREMENTS, into / SBOM]
    for file, text in zip(files, (requirements(top, found), sbom(top, found)), strict=True):
        file.write_text(text, encoding="utf-8")
    return files


def requirements(top: Wheel, found: Mapping[str, Wheel]) -> str:
    """Requirements for `pip install --require-hashes`. pip passes over the hash of the files; `verify` reads it."""
    where = f"Python {platform.python_version()} on {platform.system()} {platform.machine()}"
    head = f"# {top.name} {top.version}, by `doorward dist build --lock` with {where}.\n"
    return head + "".join(
        f"{name}=={wheel.version} --hash=sha256:{wheel.archive_sha256}  # files {wheel.files_hash}\n"
        for name, wheel in sorted(found.items())
    )


def read(file: Path) -> dict[str, Locked]:
    """The lock, by name. Raises: ConfigError."""
    try:
        lines = file.read_text(encoding="utf-8").replace("\\\n", " ").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"cannot be read: {error}", place=str(file)) from None
    found = [match for line in lines if (match := _LINE.match(line.strip()))]
    if not found:
        raise ConfigError("pins nothing", place=str(file), hint="Take the one that `doorward dist build --lock` wrote.")
    return {canonicalize_name(match["name"]): Locked(match["version"], match["files"] or "") for match in found}


def sbom(top: Wheel, found: Mapping[str, Wheel]) -> str:
    """The bill of materials: each wheel with its hash and licence, and what needs what."""
    from cyclonedx.model import HashAlgorithm, HashType
    from cyclonedx.model.bom import Bom, BomMetaData
    from cyclonedx.model.component import Component, ComponentType
    from cyclonedx.model.license import DisjunctiveLicense, LicenseExpression
    from cyclonedx.output.json import JsonV1Dot6
    from packageurl import PackageURL

    def component(wheel: Wheel) -> Component:
        expression, name = wheel.metadata["License-Expression"], wheel.metadata["License"]
        told = [LicenseExpression(str(expression))] if expression else []
        named = [DisjunctiveLicense(name=str(name).splitlines()[0][:200])] if name and str(name).strip() else []
        url = PackageURL("pypi", name=wheel.name, version=wheel.version)
        return Component(
            type=ComponentType.APPLICATION if wheel.name == top.name else ComponentType.LIBRARY,
            name=wheel.name,
            version=wheel.version,
            purl=url,
            bom_ref=str(url),
            hashes=[HashType(alg=HashAlgorithm.SHA_256, content=wheel.archive_sha256)],
            licenses=told or named,
        )

    components = {name: component(wheel) for name, wheel in sorted(found.items())}
    about = BomMetaData(component=components[top.name], timestamp=datetime(1980, 1, 1, tzinfo=UTC))
    serial = uuid5(NAMESPACE_URL, "".join(sorted(wheel.archive_sha256 for wheel in found.values())))
    below = [each for name, each in components.items() if name != top.name]
    bom = Bom(components=below, metadata=about, serial_number=serial)
    for name, wheel in found.items():
        bom.register_dependency(components[name], [components[need] for need in needs(wheel.requires) if need in found])
    return JsonV1Dot6(bom).output_as_string(indent=2) + "\n"


def needs(requires: Sequence[str]) -> Iterator[str]:
    """The names of what applies to this platform, without extras."""
    for requirement in map(Requirement, requires):
        if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
            yield canonicalize_name(requirement.name)
