"""`distribution.toml`: what a distribution is made of. Its tables, but `[distribution]`, are those of the manifest."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Annotated

from doorward import ConfigError
from doorward.configuration import Index, installed
from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, model_validator

from doorward_dist.manifest import Manifest, manifest_for, validated

FILE = "distribution.toml"
PLACE = "${distribution}"
"""In a value: where the files of `src` are when the distribution is installed."""

PINNED = ("doorward", "doorward-dist")
"""What every distribution pins: its locks are as good as what keeps them."""


def _version(text: str) -> str:
    try:
        return str(Version(text))
    except InvalidVersion:
        raise ValueError(f"{text!r} is no version, such as 1.0") from None


def _python(text: str) -> str:
    try:
        return str(SpecifierSet(text))
    except InvalidSpecifier:
        raise ValueError(f"{text!r} is no range of versions, such as >=3.11") from None


def _pin(text: str) -> str:
    """A requirement of exactly one version. Raises: ValueError."""
    try:
        pin = Requirement(text)
    except InvalidRequirement:
        raise ValueError(f"{text!r} is no requirement, such as doorward-openapi==1.2.3") from None
    exact = [each for each in pin.specifier if each.operator == "==" and "*" not in each.version]
    if len(exact) != 1 or len(pin.specifier) != 1 or pin.url or pin.marker:
        raise ValueError(f"{text!r} does not pin one version: write {pin.name}==VERSION, and nothing else")
    return text


class About(BaseModel):
    """`[distribution]`: the package that is built."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    name: Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9]*([-_.][A-Za-z0-9]+)*$")] = Field(
        description="The name of the package, and of the distribution"
    )
    version: Annotated[str, AfterValidator(_version)]
    description: Annotated[str, StringConstraints(pattern=r"^[^\r\n]*$")] = ""
    python: Annotated[str, AfterValidator(_python)] = ">=3.11"
    plugins: list[Annotated[str, AfterValidator(_pin)]] = Field(
        description="The packages that it pins: core, and all whose plugins may be used"
    )
    hooks: dict[str, Annotated[str, StringConstraints(pattern=r"^\w+(:\w+)?$")]] = Field(
        {}, description='Hook plugins of its own: NAME = "MODULE:CLASS", in a module of `src` beside this file'
    )

    @model_validator(mode="after")
    def _pins_core_once_each(self) -> About:
        names = [pin.name for pin in self.pins]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"plugins: {', '.join(twice)} is pinned more than once")
        if canonicalize_name(self.name) in names:
            raise ValueError(f"name: {self.name} is a package that it pins; call the distribution otherwise")
        for name in PINNED:
            if name not in names:
                raise ValueError(f"plugins: {name} is missing; locks are as good as what keeps them")
        return self

    @property
    def package(self) -> str:
        """The Python package of the distribution."""
        return re.sub(r"[-.]", "_", self.name).lower()

    @property
    def pins(self) -> list[Requirement]:
        found = [Requirement(text) for text in self.plugins]
        for pin in found:
            pin.name = canonicalize_name(pin.name)
        return found


class Source(Manifest):
    """The whole of `distribution.toml`."""

    distribution: About

    @model_validator(mode="after")
    def _no_files(self) -> Source:
        if self.files:
            raise ValueError("files: the hashes are written when the distribution is built")
        return self


def read(folder: Path) -> Source:
    """The source of a distribution. Raises: ConfigError."""
    file = folder / FILE
    try:
        text = file.read_text(encoding="utf-8").replace(PLACE, (folder / "src").resolve().as_posix())
        data = tomllib.loads(text)
    except FileNotFoundError:
        raise ConfigError("there is no such file", place=str(file), hint="Copy distributions/acme.") from None
    except (OSError, ValueError) as error:
        raise ConfigError(f"cannot be read: {error}", place=str(file)) from None
    index = Index(installed())
    return validated(manifest_for(Source, data, index), data, FILE, index)
