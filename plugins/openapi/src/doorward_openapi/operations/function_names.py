"""The names of a document's functions."""

from __future__ import annotations

import re
from collections.abc import Sequence

from doorward.values import unique_names

from doorward_openapi.operations.operations import Operation

_OPAQUE = re.compile(r"[0-9a-fA-F-]*[0-9][0-9a-fA-F-]{15,}")
"""An operationId that means nothing to a reader: a digest or a UUID."""


def function_names(operations: Sequence[Operation]) -> tuple[list[str], list[str]]:
    """A name for each operation, and warnings about ids that are used twice.

    The name is made from the operationId; from the route if the id is missing, opaque or used by another operation. It
    does not depend on where in the document the operation stands.
    """
    owners: dict[str, str] = {}
    for operation in operations:
        route = owners.setdefault(operation.id, operation.route)
        owners[operation.id] = min(route, operation.route, key=lambda r: (len(r), r))
    keys: dict[str, None] = {}
    warnings: list[str] = []
    for operation in operations:
        key = operation.id if operation.id and not _OPAQUE.fullmatch(operation.id) else operation.route
        if operation.id and owners[operation.id] != operation.route:
            twice = f"operationId {operation.id[:100]!r} stands there twice"
            warnings.append(f"{twice}; the one of {operation.route[:200]} is named by its route")
            key = operation.route
        while key in keys:  # two paths that differ in a slash only, or an id that reads like a route
            key = f"{operation.id} {key}"
        keys[key] = None
    names = unique_names(keys)
    return [names[key] for key in keys], warnings
