"""The defaults of core, and the defaults, locked keys and allowlist of an installed curated distribution."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib.metadata import distribution, version
from typing import TYPE_CHECKING, Any

from doorward.config.index import Entry, Index, installed
from doorward.model.errors import ConfigError

if TYPE_CHECKING:
    from doorward.secrets.store import Secrets


def find_index() -> Index:
    """The index of this environment, narrowed to the plugins that the active distribution pins."""
    entries = installed()
    active = _active(entries)
    if active is None:
        return Index(entries)
    from packaging.requirements import Requirement

    pins = [Requirement(text) for text in distribution(active.distribution).requires or ()]
    extra = set(_manifest(active).get("allow-extra", []))

    def allowed(entry: Entry) -> bool:
        name = _normal(entry.distribution)
        return name in {_normal(active.distribution), *map(_normal, extra)} or any(
            _normal(pin.name) == name and pin.specifier.contains(version(pin.name), prereleases=True) for pin in pins
        )

    return Index(entries, allowed)


def layers(file: Mapping[str, Any], secrets: Secrets) -> tuple[dict[str, Any], frozenset[str]]:
    """The merged configuration, from the weakest to the strongest layer, and the top-level keys that somebody set.

    Raises: ConfigError if a key that the distribution locks is set to another value.
    """
    from doorward.config.environment import from_environment

    active = _active(installed())
    manifest = _manifest(active) if active else {}
    chosen = merge(manifest.get("defaults", {}), file)
    chosen = merge(chosen, from_environment(secrets, chosen))
    for key, value in _leaves(manifest.get("locked", {})):
        if (given := _at(chosen, key)) not in (None, value):
            assert active is not None
            raise ConfigError(
                f"{'.'.join(key)} = {given!r} may not be changed: {active.given_by} locks it to {value!r}",
                hint="Remove it from the file and the environment.",
            )
    chosen = merge(chosen, manifest.get("locked", {}))
    core = _toml("doorward", "defaults.toml")["defaults"]
    required = manifest.get("required", {}).get("plugins", [])
    if required:
        chosen["plugins"] = [*required, *(p for p in chosen.get("plugins", core["plugins"]) if p not in required)]
    return merge(core, chosen), frozenset(chosen)


def brought_by(server: str) -> str:
    """The installed distribution whose own configuration has this server; "" if there is none."""
    active = _active(installed())
    manifest = _manifest(active) if active else {}
    has_server = any(_at(manifest, (part, "servers", server)) for part in ("defaults", "locked"))
    return active.given_by if active and has_server else ""


def merge(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """`above` over `below`; tables are merged, everything else is replaced."""
    merged = dict(below)
    for key, value in above.items():
        old = merged.get(key)
        merged[key] = merge(old, value) if isinstance(old, Mapping) and isinstance(value, Mapping) else value
    return merged


def _active(entries: list[Entry]) -> Entry | None:
    """The only installed distribution, or the one that DOORWARD_DISTRO names; never just the first of several."""
    found = [e for e in entries if e.kind == "distribution"]
    wanted = os.environ.get("DOORWARD_DISTRO")
    if wanted:
        found = [e for e in found if e.name == wanted]
        if not found:
            raise ConfigError(f"DOORWARD_DISTRO={wanted}: no such distribution is installed")
    if len(found) > 1:
        raise ConfigError(
            f"several distributions are installed: {', '.join(e.name for e in found)}",
            hint="Set DOORWARD_DISTRO to one of them.",
        )
    return found[0] if found else None


def _manifest(entry: Entry) -> dict[str, Any]:
    return _toml(entry.point.module, "distro.toml")


def _toml(package: str, file: str) -> dict[str, Any]:
    import tomllib  # imported late, because `doorward --help` needs neither
    from importlib import resources

    try:
        return tomllib.loads(resources.files(package).joinpath(file).read_text(encoding="utf-8"))
    except (ImportError, OSError, ValueError) as error:
        raise ConfigError(f"cannot be read: {error}", place=f"{file} of {package}") from None


def _leaves(table: Mapping[str, Any], path: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], Any]]:
    return [
        leaf
        for k, v in table.items()
        for leaf in (_leaves(v, (*path, k)) if isinstance(v, Mapping) else [((*path, k), v)])
    ]


def _at(table: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        table = table.get(key) if isinstance(table, Mapping) else None
    return table


def _normal(name: str) -> str:
    return name.lower().replace("_", "-").replace(".", "-")
