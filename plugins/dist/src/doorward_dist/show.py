"""`doorward dist show`: the active distribution, what it pins, locks, requires and refuses."""

from __future__ import annotations

from typing import Any

from doorward import ConfigError
from doorward.configuration import find_index
from doorward_cli import is_own_command

from doorward_dist.distribution import Distribution, find_distribution
from doorward_dist.installed import pins


def active() -> Distribution:
    """The active distribution. Raises: ConfigError if there is none."""
    if found := find_distribution():
        return found
    raise ConfigError("no distribution is installed", hint="doorward dist build makes one: see docs/distributions.md")


def described() -> dict[str, Any]:
    """The active distribution, for `--json`. Raises: ConfigError."""
    found = active()
    manifest, refused = found.manifest, find_index().refused
    return {
        "name": found.entry.name,
        "package": found.entry.distribution,
        "version": found.entry.version,
        "branding": manifest.branding.model_dump(exclude_defaults=True),
        "pins": [
            {"requirement": str(pin.requirement), "installed": pin.installed, "hashed": pin.name in manifest.files}
            for pin in pins(found)
        ],
        "locks": found.locks.keys,
        "open": manifest.open,
        "required": manifest.required.plugins,
        "policy": manifest.policy.model_dump(),
        "allow_extra": manifest.allow_extra,
        "refused": [
            {"kind": each.kind, "name": each.name, "distribution": each.distribution, "version": each.version}
            for each in refused
            if not is_own_command(each)
        ],
    }


def lines(told: dict[str, Any]) -> list[str]:
    """The same for people."""
    policy = told["policy"]
    hashed = {pin["requirement"]: ", files pinned" if pin["hashed"] else "" for pin in told["pins"]}
    rows = [
        ("distribution", [f"{told['package']} {told['version']}"]),
        ("branding", [f"{key}: {value}" for key, value in told["branding"].items()]),
        ("pins", [f"{p['requirement']} ({_is(p)}{hashed[p['requirement']]})" for p in told["pins"]]),
        ("locks", told["locks"]),
        ("open", told["open"]),
        ("required plugins", told["required"]),
        ("policy", [f"{word} {pattern}" for word in ("allow", "deny") for pattern in policy[word]]),
        ("allowed as well", told["allow_extra"]),
        (
            "refused plugins",
            [f"{r['kind']} {r['name']} of {r['distribution']} {r['version']}" for r in told["refused"]],
        ),
    ]
    return [line for title, found in rows if found for line in (f"{title}:", *(f"  {each}" for each in found))]


def _is(pin: dict[str, Any]) -> str:
    return f"installed: {pin['installed']}" if pin["installed"] else "not installed"
