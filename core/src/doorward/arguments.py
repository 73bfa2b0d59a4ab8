"""The arguments of a call against the function's JSON Schema; an error says which, what was expected, and shows the
right signature."""

from __future__ import annotations

import difflib
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from doorward.errors import InvalidArguments
from doorward.signatures import signature
from doorward.types import Function
from doorward.values import plain

if TYPE_CHECKING:
    from doorward.catalog import Catalog

_MOST = 1024
_validators: OrderedDict[tuple[int, str], tuple[Function, Any]] = OrderedDict()


def bind(function: Function, args: Sequence[Any], kwargs: Mapping[str, Any], catalog: Catalog) -> dict[str, Any]:
    """Positional and keyword arguments as one checked dictionary.

    Raises: InvalidArguments.
    """
    names = list(function.parameters.get("properties", {}))
    if len(args) > len(names):
        raise _invalid(function, catalog, f"takes {len(names)} arguments, got {len(args)}")
    bound = dict(zip(names, args, strict=False))
    for name, value in kwargs.items():
        if name in bound:
            raise _invalid(function, catalog, f"got two values for {name!r}")
        bound[name] = value
    bound = {str(k): plain(v) for k, v in bound.items()}
    for error in _validator(function, catalog).iter_errors(bound):
        raise _invalid(function, catalog, _explain(error, names))
    return bound


def fits(function: Function, name: str, value: Any, catalog: Catalog) -> bool:
    """Whether a value may be this parameter of the function."""
    return not any(list(error.instance_path)[:1] == [name] for error in _validator(function, catalog).iter_errors({name: value}))


def _validator(function: Function, catalog: Catalog) -> Any:
    """A compiled validator, kept while the function's record is."""
    key = (id(catalog), function.qualified)
    kept = _validators.get(key)
    if kept and kept[0] is function:
        return kept[1]
    import jsonschema_rs

    schema = {**function.parameters, "$defs": _closure(function, catalog)}
    try:
        validator: Any = jsonschema_rs.Draft202012Validator(schema, validate_formats=False)
    except (ValueError, RecursionError):  # a document's own schema may be none; then only names are checked
        properties = dict.fromkeys(function.parameters.get("properties", {}), True)
        validator = jsonschema_rs.Draft202012Validator({**function.parameters, "properties": properties})
    _validators[key] = (function, validator)
    if len(_validators) > _MOST:
        _validators.popitem(last=False)
    return validator


def _closure(function: Function, catalog: Catalog) -> dict[str, Any]:
    """Every definition that the parameters can reach."""
    found: dict[str, Any] = {}
    todo: list[Any] = [function.parameters]
    while todo:
        node = todo.pop()
        if isinstance(node, Mapping):
            ref = node.get("$ref")
            if isinstance(ref, str) and ref.startswith("#/$defs/"):
                name = ref[8:].replace("~1", "/").replace("~0", "~")
                if name not in found:
                    found[name] = catalog.definition(function.server, name) or True
                    todo.append(found[name])
            todo.extend(node.values())
        elif isinstance(node, list):
            todo.extend(node)
    return found


def _explain(error: Any, names: Sequence[str]) -> str:
    path = "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in error.instance_path).lstrip(".")
    message = str(error.message)[:400]
    if not path and "Additional properties" in message:
        unknown = message.split("'")[1::2]
        near = [n for u in unknown for n in difflib.get_close_matches(u, names, n=1)]
        return f"has no parameter {', '.join(map(repr, unknown))}" + (f"; did you mean {', '.join(map(repr, near))}?" if near else "")
    if not path and "is a required property" in message:
        return f"needs the argument {message.split(' is a ')[0]}".replace('"', "'")
    return f"argument {path}: {message}" if path else message


def _invalid(function: Function, catalog: Catalog, why: str) -> InvalidArguments:
    text = signature(function, lambda name: catalog.definition(function.server, name))
    return InvalidArguments(f"{function.qualified} {why}", hint=f"The right signature:\n{text}")
