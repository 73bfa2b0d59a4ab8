"""The layers of the configuration: core's defaults, what an installed curated distribution says, the user's own.

One distribution is active, or none. It says which plugins may be used, and what nobody may change (`locks`).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib.metadata import distribution
from typing import TYPE_CHECKING, Any, NamedTuple

from doorward.model.errors import ConfigError
from doorward.packages.index import Entry, Index, canonical, installed

if TYPE_CHECKING:
    from doorward.config.locks import Locks
    from doorward.config.manifest import Branding, Manifest, ManifestPolicy
    from doorward.secrets.store import Secrets

MANIFEST = "distro.toml"
"""The file of a distribution, in its package."""


class Distribution(NamedTuple):
    """The active distribution: its entry point, what its manifest says, and what it locks."""

    entry: Entry
    manifest: Manifest
    locks: Locks
    owned: set[str]
    """The keys of its policy that belong to plugins: `policy.rules`."""

    @property
    def given_by(self) -> str:
        return self.entry.given_by

    @property
    def policy(self) -> ManifestPolicy:
        return self.manifest.policy

    @property
    def branding(self) -> Branding:
        return self.manifest.branding

    @property
    def title(self) -> str:
        """What it is called where people see it, with its version: `Acme Gateway (acme-distro 1.2)`."""
        return f"{self.branding.title or self.entry.name} ({self.given_by})"

    @property
    def governs(self) -> bool:
        """Whether it locks anything, requires a plugin or has a policy of its own: what that stands on must hold."""
        manifest = self.manifest
        return bool(self.locks.keys or manifest.required.plugins or manifest.policy.model_fields_set)

    @property
    def servers(self) -> list[str]:
        """The servers that the distribution brings."""
        tables = (self.manifest.defaults, self.manifest.locked)
        return [*dict.fromkeys(name for table in tables for name in table.get("servers", {}))]


class Layers(NamedTuple):
    """The merged configuration, the top-level keys that somebody set, and the hook plugins that must be there."""

    data: dict[str, Any]
    named: frozenset[str]
    required: frozenset[str]


def find_distribution() -> Distribution | None:
    """The active distribution; `None` if none is installed.

    Raises: ConfigError for a distribution that is not the expected one, is not alone, or has a broken manifest: nothing
    starts without its locks.
    """
    entry = find_active(installed())
    if entry is None:
        return None
    from doorward.config.locks import Locks
    from doorward.config.manifest import Manifest, manifest_for
    from doorward.config.owned import owner, tables_in
    from doorward.config.validation import validate

    place = f"{MANIFEST} of {entry.given_by}"
    index = find_index()
    raw = raw_manifest(entry)
    manifest = validate(manifest_for(Manifest, raw, index), raw, secrets=None, place=place, index=index)
    base = _with_required(manifest, merge(_core(), merge(manifest.defaults, manifest.locked)))
    owned = {name for name in tables_in({"policy": raw.get("policy")}) if owner("table", name, index) is not None}
    return Distribution(entry, manifest, Locks(manifest, base, entry.given_by, index), owned)


def find_index() -> Index:
    """The index of this environment, narrowed to the plugins that the active distribution pins.

    The manifest is not validated here, because `doorward --help` has no time for that. Raises: ConfigError.
    """
    entries = installed()
    active = find_active(entries)
    if active is None:
        return Index(entries)
    from packaging.requirements import Requirement

    from doorward.packages import pinned_files

    pins = [Requirement(text) for text in distribution(active.distribution).requires or ()]
    manifest = raw_manifest(active)
    extra, hashes = manifest.get("allow-extra", []), manifest.get("files", {})
    if not isinstance(extra, list) or not isinstance(hashes, dict):
        raise ConfigError("allow-extra is a list, and files a table", place=f"{MANIFEST} of {active.given_by}")
    exact = [canonical(pin.name) for pin in pins if any(each.operator.startswith("==") for each in pin.specifier)]
    pinned = dict.fromkeys(exact, "") | {canonical(name): str(pin) for name, pin in hashes.items()}

    free = {canonical(active.distribution), *map(canonical, map(str, extra))}

    def pins_of(entry: Entry) -> list[Requirement]:
        return [pin for pin in pins if canonical(pin.name) == canonical(entry.distribution)]

    def allowed(entry: Entry) -> bool:
        return canonical(entry.distribution) in free or any(
            pin.specifier.contains(entry.version, prereleases=True) for pin in pins_of(entry)
        )

    def why(entry: Entry) -> str:
        named = ", ".join(map(str, pins_of(entry)))
        return f"{active.given_by}, which {f'pins {named}' if named else f'does not name {entry.distribution}'}"

    return Index(entries, allowed, why=why, check=lambda: pinned_files.check(pinned, entries))


def find_active(entries: list[Entry]) -> Entry | None:
    """The installed distribution. Variables cannot choose another one, they can only say which one is expected.

    Raises: ConfigError if there are several, if it is not the one that DOORWARD_DISTRO names, or if its files are not
    as they were installed.
    """
    found = sorted((e for e in entries if e.kind == "distribution"), key=lambda e: e.name)
    if len(found) > 1:
        raise ConfigError(
            f"several distributions are installed: {', '.join(f'{e.name} of {e.given_by}' for e in found)}",
            hint="Uninstall all but one.",
        )
    wanted = os.environ.get("DOORWARD_DISTRO")
    if wanted and wanted not in {name for e in found for name in (e.name, e.distribution)}:
        active = f"{found[0].name!r} of {found[0].given_by}" if found else "none"
        raise ConfigError(
            f"DOORWARD_DISTRO={wanted}: the installed distribution is {active}",
            hint="Install the one that is expected; the variable does not choose one.",
        )
    if not found:
        return None
    from doorward.packages import pinned_files

    pinned_files.check({canonical(found[0].distribution): pinned_files.BY_RECORD}, entries)
    return found[0]


def title_of_active() -> str | None:
    """`Distribution.title` of the active distribution, whose manifest is not validated: `doorward --version` has no
    time for that. `None` if none is installed. Raises: ConfigError."""
    if (active := find_active(installed())) is None:
        return None
    brand = raw_manifest(active).get("branding", {})
    title = " ".join(str(brand.get("title", "")).split()) if isinstance(brand, dict) else ""
    clean = "".join(letter for letter in title if letter.isprintable())[:100]
    return f"{clean or active.name} ({active.given_by})"


def layers(
    file: Mapping[str, Any],
    secrets: Secrets,
    options: Mapping[str, Any] | None = None,
    *,
    active: Distribution | None,
) -> Layers:
    """The merged configuration, from the weakest to the strongest layer: core, the distribution's defaults, the file,
    the environment, `options` of the command line, what the distribution locks.

    Raises: ConfigError if a layer of the user sets what the distribution locks.
    """
    from doorward.config.environment import from_environment

    defaults, locked = (active.manifest.defaults, active.manifest.locked) if active else ({}, {})
    environ = from_environment(secrets, merge(merge(defaults, file), locked))
    own = {
        "Remove it from the configuration file.": file,
        "Remove it from the environment, or from .env.": environ,
        "Leave out the option.": options or {},
    }
    chosen = defaults
    for hint, layer in own.items():
        if active:
            active.locks.check(layer, hint)
        chosen = merge(chosen, layer)
    chosen = merge(chosen, locked)
    named, data = frozenset(chosen), merge(_core(), chosen)
    if active is None:
        return Layers(data, named, frozenset())
    if isinstance(servers := data.get("servers"), Mapping):  # its own come first, and so have their import names
        data["servers"] = {name: servers[name] for name in (*active.servers, *servers) if name in servers}
    return Layers(_with_required(active.manifest, data), named, frozenset(active.manifest.required.plugins))


def merge(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """`above` over `below`; tables are merged, everything else is replaced."""
    merged = dict(below)
    for key, value in above.items():
        old = merged.get(key)
        merged[key] = merge(old, value) if isinstance(old, Mapping) and isinstance(value, Mapping) else value
    return merged


def raw_manifest(entry: Entry) -> dict[str, Any]:
    """The manifest of a distribution as it stands, but for the folder of its package, which is not imported.

    Raises: ConfigError.
    """
    place = f"{MANIFEST} of {entry.given_by}"
    folder = _folder(entry)
    try:
        found = _read_toml(os.path.join(folder, MANIFEST))
    except (OSError, ValueError) as error:
        raise ConfigError(f"cannot be read: {error}", place=place) from None

    def placed(value: Any) -> Any:
        if isinstance(value, str):
            return value.replace("${distribution}", folder.replace("${", "$${"))
        if isinstance(value, list):
            return [placed(each) for each in value]
        return {key: placed(each) for key, each in value.items()} if isinstance(value, dict) else value

    return {key: placed(value) for key, value in found.items()}


def _folder(entry: Entry) -> str:
    """The folder of a distribution's module. Raises: ConfigError."""
    from importlib.util import find_spec

    try:
        spec = find_spec(entry.point.module)
    except (ImportError, ValueError):
        spec = None
    if spec is None or spec.origin is None:
        raise ConfigError(f"has no module {entry.point.module!r}", place=entry.given_by, hint="Install it again.")
    return os.path.dirname(spec.origin)


def _with_required(manifest: Manifest, data: dict[str, Any]) -> dict[str, Any]:
    """The configuration with the plugins that the distribution requires, first and once."""
    required, plugins = manifest.required.plugins, data["plugins"]
    plugins = [plugins] if isinstance(plugins, str) else plugins  # as `Config` takes it
    if not required or not isinstance(plugins, list):
        return data
    return {**data, "plugins": [*required, *(name for name in plugins if name not in required)]}


def _core() -> dict[str, Any]:
    """Core's own defaults."""
    defaults: dict[str, Any] = _read_toml(os.path.join(os.path.dirname(__file__), "..", "defaults.toml"))["defaults"]
    return defaults


def _read_toml(file: str) -> dict[str, Any]:
    import tomllib  # imported late, because `doorward --help` needs it only with a distribution

    with open(file, encoding="utf-8") as opened:
        return tomllib.loads(opened.read())
