"""Checks the functions that sources deliver and hooks change, before they are stored: each is one that can be named,
belongs to its server, and has a schema by which its arguments can be checked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from doorward.model.functions import Compiled, Function, Skipped
from doorward.model.names import is_plain
from doorward.plugins.hook_answers import Unfit, odd_part, unfit

_DIALECT = "https://json-schema.org/draft/2020-12/schema"

NOTHING: Mapping[str, Any] = {"enum": []}
"""The schema that no value fits: it stands for one that cannot be read."""


def drop_unusable(compiled: Compiled, server: str, source: object) -> Compiled:
    """A compile without the functions that cannot be used: they are skipped. `source` is who delivered it. For threads.

    Raises: Unfit if it is of no use at all.
    """
    wrong: list[Skipped] = []
    good: list[Function] = []
    for function in compiled.functions:
        if why := unusable_reason(function, server):
            wrong.append(Skipped(str(function.name)[:200], f"{source} delivered it, and {why}"))
        else:
            good.append(function)
    broken = [name for name, schema in compiled.definitions.items() if not _is_schema(schema)]
    warnings = [f"{source} delivered a definition that is no JSON Schema, so that nothing fits it: {n}" for n in broken]
    return replace(
        compiled,
        functions=good,
        definitions={**compiled.definitions, **dict.fromkeys(broken, NOTHING)},
        skipped=[*compiled.skipped, *wrong],
        warnings=[*compiled.warnings, *warnings],
    )


def check_changed(functions: Iterable[Any], servers: set[str]) -> None:
    """Check functions that a hook may have changed, which belong to these servers. Raises: Unfit."""
    for function in functions:
        if not isinstance(function, Function):
            raise Unfit(f"it left {type(function).__name__} among the functions")
        if why := unusable_reason(function, function.server if function.server in servers else " or ".join(servers)):
            raise Unfit(f"of the function {str(function.name)[:200]!r}, {why}")


def check_definitions(definitions: Mapping[Any, Any]) -> None:
    """Check definitions that a hook has changed or added. Raises: Unfit."""
    for name, schema in definitions.items():
        if not isinstance(name, str) or not _is_schema(schema):
            raise Unfit(f"the definition {str(name)[:200]!r} that it left is no JSON Schema")


def unusable_reason(function: Any, server: str) -> str:
    """Why a function cannot be used, as the end of a sentence; "" if it can. Raises: Unfit if it is no function."""
    if not isinstance(function, Function):
        raise unfit(function, "Function")
    if odd := odd_part(function):
        return f"it is one{odd}"
    if not is_plain(function.name) or function.name.startswith("__"):
        return "its name is no Python identifier"
    if function.server != server:
        return f"it is one of another server: {function.server[:200]!r}"
    parameters = function.parameters
    if parameters.get("type") != "object" or not isinstance(parameters.get("properties", {}), Mapping):
        return "its parameters are no JSON Schema of an object"
    if nameless := [str(name)[:200] for name in parameters.get("properties", {}) if not is_plain(name)]:
        rest = f", and {len(nameless) - 1} more" if len(nameless) > 1 else ""
        return f"its parameter {nameless[0]!r} is no Python identifier{rest}: name it otherwise, and say so in `names`"
    if not _is_schema(parameters):
        return "its parameters are no JSON Schema"
    return ""


def _is_schema(schema: Any) -> bool:
    import jsonschema_rs

    if not isinstance(schema, Mapping):
        return False
    try:  # of one that names another dialect, the checker would fetch that from the network
        return bool(jsonschema_rs.meta.is_valid({**schema, "$schema": _DIALECT}))
    except (ValueError, RecursionError):  # it holds what JSON does not know
        return False
