"""What the operator of a server can do about a document that wrongly rejects arguments."""

from __future__ import annotations

import json

from doorward.texts import Mistaken

_MAX_SHOWN_FIELDS = 3
"""Fields that are suggested for `optional`."""


def advice(wrong: Mistaken) -> list[str]:
    """The keys with which the arguments are accepted, as the end of a message; nothing if there are none."""
    function, more = wrong.function, False
    required: dict[str, None] = {}
    for error in wrong.errors:
        if error.kind.name == "required":
            path = [part for part in error.instance_path if isinstance(part, str)]
            required[".".join([function.name, *path, error.kind.property])] = None
        elif error.kind.name == "additionalProperties" and not error.instance_path and function.open:
            more = True
    keys = ['extra = "allow"'] if more else []
    if required:
        keys.append(f"optional = {json.dumps([*required][:_MAX_SHOWN_FIELDS])}")
    if not keys:
        return []
    return [f"if the document of {function.server} is wrong in this, its operator can set {' and '.join(keys)}"]
