"""The active distribution: found, and what it says to Doorward of the configuration.

One distribution is active, or none. It says which plugins may be used, and what nobody may change (`locked`). What is
here is asked at each start, before any plugin is imported, and imports no more than it needs.
"""

from __future__ import annotations

import os
from importlib.metadata import distribution
from typing import TYPE_CHECKING, Any, NamedTuple

from doorward import ConfigError
from doorward.configuration import Entry, Index, canonical, installed

if TYPE_CHECKING:
    from doorward.configuration import Managed
    from packaging.requirements import Requirement

    from doorward_dist.locked import Locks
    from doorward_dist.manifest import Manifest

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


class Active:
    """The active distribution as Doorward asks for it: see `doorward.configuration.Manager`. Its manifest is validated
    where that is needed: `doorward --help` has no time for it."""

    def __init__(self, entry: Entry, entries: list[Entry]) -> None:
        self.entry, self.entries = entry, entries

    @property
    def title(self) -> str:
        """`Acme Gateway (acme-distro 1.2)`. Raises: ConfigError."""
        brand = raw_manifest(self.entry).get("branding", {})
        title = " ".join(str(brand.get("title", "")).split()) if isinstance(brand, dict) else ""
        return _title("".join(letter for letter in title if letter.isprintable())[:100], self.entry)

    def index(self) -> Index:
        """All plugins, narrowed to those that the distribution pins. Raises: ConfigError."""
        from packaging.requirements import Requirement

        from doorward_dist import pinned_files

        active, entries = self.entry, self.entries
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

    def distribution(self) -> Distribution:
        """What the manifest says. Raises: ConfigError."""
        from doorward.configuration import key_owner, tables_in

        from doorward_dist.locked import Locks
        from doorward_dist.manifest import Manifest, manifest_for, validated

        index, raw = self.index(), raw_manifest(self.entry)
        model = manifest_for(Manifest, raw, index)
        manifest = validated(model, raw, f"{MANIFEST} of {self.entry.given_by}", index)
        owned = {name for name in tables_in({"policy": raw.get("policy")}) if key_owner("table", name, index)}
        return Distribution(self.entry, manifest, Locks(manifest, self.entry.given_by, index), owned)

    def managed(self) -> Managed:
        """What Doorward makes of it. Raises: ConfigError."""
        from doorward.administration import some
        from doorward.configuration import Branding, Managed

        from doorward_dist.seals import Seals

        found = self.distribution()
        manifest, locks, policy = found.manifest, found.locks, found.manifest.policy
        brand = manifest.branding
        governs = locks.keys or manifest.required.plugins or policy.model_fields_set  # what it stands on must hold
        return Managed(
            found.given_by,
            _title(brand.title, found.entry),
            locks.check,
            lambda key: not locks.is_locked(key),
            manifest.defaults,
            manifest.locked,
            manifest.required.plugins,
            policy,
            found.owned,
            Branding(brand.name, brand.title, brand.instructions),
            f"locks {some(locks.keys)}; allows {some(policy.allow)}; denies {some(policy.deny)}",
            Seals if governs else None,
        )


def manager(entries: list[Entry]) -> Active | None:
    """What manages the configuration of this environment: the active distribution; `None` if none is installed.
    Raises: ConfigError."""
    entry = find_active(entries)
    return None if entry is None else Active(entry, entries)


def find_distribution() -> Distribution | None:
    """The active distribution; `None` if none is installed.

    Raises: ConfigError for a distribution that is not the expected one, is not alone, or has a broken manifest: nothing
    starts without its locks.
    """
    active = manager(installed())
    return None if active is None else active.distribution()


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
    from doorward_dist import pinned_files

    pinned_files.check({canonical(found[0].distribution): pinned_files.BY_RECORD}, entries)
    return found[0]


def raw_manifest(entry: Entry) -> dict[str, Any]:
    """The manifest of a distribution as it stands, but for the folder of its package, which is not imported.

    Raises: ConfigError.
    """
    import tomllib  # late: most starts have no distribution

    place = f"{MANIFEST} of {entry.given_by}"
    folder = _folder(entry)
    try:
        with open(os.path.join(folder, MANIFEST), encoding="utf-8") as opened:
            found = tomllib.loads(opened.read())
    except (OSError, ValueError) as error:
        raise ConfigError(f"cannot be read: {error}", place=place) from None

    def placed(value: Any) -> Any:
        if isinstance(value, str):
            return value.replace("${distribution}", folder.replace("${", "$${"))
        if isinstance(value, list):
            return [placed(each) for each in value]
        return {key: placed(each) for key, each in value.items()} if isinstance(value, dict) else value

    return {key: placed(value) for key, value in found.items()}


def _title(title: str, entry: Entry) -> str:
    return f"{title or entry.name} ({entry.given_by})"


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
