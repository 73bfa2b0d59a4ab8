"""`DOORWARD_*` as configuration: `DOORWARD_LIMITS__TIMEOUT=60`, `DOORWARD_SERVERS__GITHUB__BASE_URL=…`."""

from __future__ import annotations

import json
from typing import Any

from doorward.secrets import Secrets

NOT_SETTINGS = {"DOORWARD_CONFIG", "DOORWARD_DISTRO", "DOORWARD_SPECS"}


def from_environment(secrets: Secrets) -> dict[str, Any]:
    """A nested table: `__` goes down one level, names are lower-cased, lists and tables are written as JSON.

    `DOORWARD_STATE_DIR` is the state directory.
    """
    table: dict[str, Any] = {}
    for variable, value in sorted(secrets.variables("DOORWARD_").items()):
        if variable in NOT_SETTINGS:
            continue
        name = "state" if variable == "DOORWARD_STATE_DIR" else variable.removeprefix("DOORWARD_").lower()
        *parents, key = name.split("__")
        at = table
        for parent in parents:
            at = at.setdefault(parent, {})
        at[key] = json.loads(value) if value.startswith(("[", "{")) else value
    return table
