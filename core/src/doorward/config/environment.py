"""`DOORWARD_*` as configuration: `DOORWARD_LIMITS__TIMEOUT=60`, `DOORWARD_SERVERS__GITHUB__BASE_URL=…`."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from doorward.config.install_hints import owned, owner_brought
from doorward.model.errors import ConfigError
from doorward.secrets.store import Secrets

_OF_TESTS = ("SPECS", "CORPUS", "PEERS", "RUNS", "SOAK_RUNS", "DIRECTUS")
NOT_SETTINGS = {
    *filter(str.isupper, owned()["managed"]),
    *(f"DOORWARD_{name}" for name in ("CONFIG", "DEBUG", "NESTED", *_OF_TESTS)),
}
"""Variables that are not keys of the configuration: for what manages it, for the command line and for tests."""


def from_environment(secrets: Secrets, below: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """A nested table: `__` goes down one level, names become lower case, lists and tables are written as JSON.

    `DOORWARD_STATE_DIR` is the state directory. A name that `below` spells otherwise gets that spelling: `MY_API`
    becomes `my-api`, which cannot be the name of a variable.
    """
    table: dict[str, Any] = {}
    for variable, value in _variables(secrets).items():
        *parents, key = _name(variable).split("__")
        at, known = table, below
        try:
            for parent in parents:
                parent = _spelt(parent, known)
                at, known = at.setdefault(parent, {}), known.get(parent) if isinstance(known, Mapping) else None
            at[_spelt(key, known)] = json.loads(value) if value.startswith(("[", "{")) else value
        except ValueError as error:
            raise ConfigError(f"is no JSON: {error}", place=variable, hint='Write it like ["a", "b"].') from None
        except (AttributeError, TypeError):
            raise ConfigError("goes below a variable that is no table", place=variable) from None
    return table


def variable_of(place: str, path: Sequence[Any], secrets: Secrets) -> str:
    """The variable that says what a key is, or what is above it; "" if none does. The key has this path in the table at
    a place: `doorward.toml [servers.github]`."""
    table = re.search(r"\[([\w.-]+)\]", place)
    parts = [*(table[1].split(".") if table else ()), *map(str, path)]
    key = "__".join(re.sub(r"\W", "_", part).lower() for part in parts)
    names = {_name(variable): variable for variable in _variables(secrets)}
    return next((variable for name, variable in names.items() if f"{key}__".startswith(f"{name}__")), "")


def of_server(name: str, secrets: Secrets) -> list[str]:
    """The variables that configure a server, or a part of it."""
    found = []
    for variable, value in _variables(secrets).items():
        table, *below = _name(variable).split("__")
        if table == "servers" and (
            below[0] == re.sub(r"\W", "_", name).lower() if below else name in json.loads(value)
        ):
            found.append(variable)
    return found


def require_settings(secrets: Secrets, known: Collection[str]) -> None:
    """Check that each variable is for a known setting. Raises: ConfigError, which names the variable."""
    for variable in _variables(secrets):
        if (name := _name(variable).partition("__")[0]) not in known:
            hint = owner_brought("table", name) or f"Unset it, or name one of {', '.join(known)}."
            raise ConfigError(f"there is no setting {name!r}", place=variable, hint=hint)


def _variables(secrets: Secrets) -> dict[str, str]:
    return {
        variable: value
        for variable, value in sorted(secrets.variables("DOORWARD_").items())
        if variable not in NOT_SETTINGS
    }


def _name(variable: str) -> str:
    return "state" if variable == "DOORWARD_STATE_DIR" else variable.removeprefix("DOORWARD_").lower()


def _spelt(name: str, known: Any) -> str:
    """A name in the spelling of the configuration, if it has that name."""
    keys = known if isinstance(known, Mapping) else ()
    return next((key for key in keys if re.sub(r"\W", "_", key).lower() == name), name)
