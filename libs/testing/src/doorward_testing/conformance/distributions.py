"""Conformance tests of curated distributions: inherit `DistributionConformance`, and say which package it is."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import AbstractAsyncContextManager
from importlib.metadata import PackageNotFoundError, requires, version
from importlib.resources import files
from typing import Any

import pytest
from doorward import ConfigError, Gateway
from doorward.configuration import installed

from doorward_testing.conformance.base import Conformance, fail, require
from doorward_testing.conformance.drivers import UNKNOWN_KEY

Path = tuple[str, ...]


class DistributionConformance(Conformance):
    """For distributions that pin plugins and bring defaults and locks. Say `distribution`, the name of the package; it
    is installed in the environment of the tests, and is the only one."""

    distribution: str = ""

    @pytest.fixture(autouse=True)
    def _installed(self) -> None:
        if not self.distribution:
            self.say('distribution = "acme-doorward"  # the package')
        found = [entry for entry in installed() if entry.kind == "distribution"]
        ours = [entry for entry in found if _normal(entry.distribution) == _normal(self.distribution)]
        require(ours, f"{self.distribution} has no entry point in doorward.distro here: install it, then run its tests")
        require(len(found) == 1, f"several distributions are installed: {sorted(entry.given_by for entry in found)}")
        self.entry = ours[0]
        text = files(self.entry.point.module).joinpath("distro.toml").read_text(encoding="utf-8")
        self.manifest = tomllib.loads(text)

    @pytest.mark.anyio
    async def test_it_starts(self, host: Any) -> None:
        """Without anything configured by a user."""
        try:
            async with self._opened(host, {}):
                pass
        except ConfigError as error:
            fail(f"a user who configures nothing reads: {error}\n{error.hint or ''}".rstrip())

    def test_plugins_are_pinned(self) -> None:
        """To one version each, which is the installed one: what was tested is what is used."""
        kinds = {_normal(entry.distribution) for entry in installed()} - {_normal(self.distribution)}
        free = {_normal(name) for name in self.manifest.get("allow-extra", ())}
        pinned = {}
        for text in requires(self.distribution) or ():
            name = re.split(r"[^\w.-]", text.strip())[0]
            if _normal(name) in kinds and "extra ==" not in text:
                pinned[_normal(name)] = re.search(r"===?\s*([\w.!+]+)\s*(;|$)", text)
                require(pinned[_normal(name)], f"{text!r} is no pin: write {name}==VERSION")
        for name, pin in pinned.items():
            try:
                require(
                    pin and pin[1] == version(name),
                    f"{name} is pinned to {pin and pin[1]}, and {version(name)} is here",
                )
            except PackageNotFoundError:
                fail(f"{name} is pinned and not installed")
        require(pinned or kinds <= free, "it pins no plugin: name each in `dependencies`, with its version")

    @pytest.mark.anyio
    async def test_required_plugins_stay(self, host: Any) -> None:
        """A user who names no plugin has those that are required."""
        wanted = self.manifest.get("required", {}).get("plugins", [])
        async with self._opened(host, {} if "plugins" in self.manifest.get("locked", {}) else {"plugins": []}) as gate:
            missing = [name for name in wanted if name not in gate.config.plugins]
            require(not missing, f"required plugins that a user can leave out: {missing}")

    @pytest.mark.anyio
    async def test_locked_keys_hold(self, host: Any) -> None:
        """Another value stops the start, from the file and from the environment, and the error names the key and the
        distribution. The same value is no change."""
        for path, value in self._locked():
            await self._require_refused(host, path, _table(path, _other(value)), {})
            if not isinstance(value, list | Mapping):
                name = "DOORWARD_" + "__".join(path).upper()
                await self._require_refused(host, path, {}, {name: str(_other(value))})
            try:
                async with self._opened(host, _table(path, value)):
                    pass
            except ConfigError as error:
                fail(f"{'.'.join(path)} with the locked value itself is refused: {error}")

    @pytest.mark.anyio
    async def test_locked_tables_hold(self, host: Any) -> None:
        """Nobody sets anything in them."""
        for text in self.manifest.get("lock", ()):
            path = tuple(part.strip('"').replace("*", "any") for part in re.findall(r'"[^"]+"|[^.]+', text))
            await self._require_refused(host, path, _table((*path, UNKNOWN_KEY), 1), {})

    def _locked(self) -> Iterator[tuple[Path, Any]]:
        opened = tuple(self.manifest.get("open", ()))
        for path, value in _leaves(self.manifest.get("locked", {})):
            if not ".".join(path).startswith(opened):
                yield path, value

    async def _require_refused(self, host: Any, path: Path, config: dict[str, Any], environ: dict[str, str]) -> None:
        key, where = ".".join(path), "the environment" if environ else "the file"
        try:
            async with self._opened(host, config, environ):
                fail(f"{key} is locked, and {where} changed it")
        except ConfigError as error:
            said = f"{error} {error.hint or ''}"
            require(self.entry.given_by in said and path[0] in said, f"{where} may not change {key}, and reads: {said}")

    def _opened(
        self, host: Any, config: dict[str, Any], environ: Mapping[str, str] | None = None
    ) -> AbstractAsyncContextManager[Gateway]:
        """A gateway as a user of the distribution has it."""
        return host.gateway(config, index=None, environ=dict(environ or {}), compile=False)  # type: ignore[no-any-return]


def _leaves(table: Mapping[str, Any], path: Path = ()) -> Iterator[tuple[Path, Any]]:
    for key, value in table.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, (*path, key))
        else:
            yield (*path, key), value


def _table(path: Path, value: Any) -> dict[str, Any]:
    """A configuration in which one key is set."""
    for key in reversed(path):
        value = {key: value}
    return value  # type: ignore[no-any-return]


def _other(value: Any) -> Any:
    match value:
        case bool():
            return not value
        case int() | float():
            return value + 1
        case list():
            return [*value, "other"]
        case _:
            return f"{value}-other"


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
