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
    bound = {str(k): plain(v, keep_bytes=True) for k, v in bound.items()}
    for error in _validator(function, catalog).iter_errors(plain(bound)):
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
    names_only = {**function.parameters, "properties": dict.fromkeys(function.parameters.get("properties", {}), True)}
    validator: Any = None
    for candidate in (schema, _without_patterns(schema), names_only):  # a document's own schemas may be none
        try:
            validator = jsonschema_rs.Draft202012Validator(candidate, validate_formats=False)
            break
        except (ValueError, RecursionError):
            continue
    _validators[key] = (function, validator)
    if len(_validators) > _MOST:
        _validators.popitem(last=False)
    return validator


def _without_patterns(schema: Any) -> Any:
    """The schema without regular expressions: dialects differ, and one that we cannot compile must not undo the rest."""
    if isinstance(schema, Mapping):
        return {k: _without_patterns(v) for k, v in schema.items() if not (k == "pattern" and isinstance(v, str))}
    return [_without_patterns(v) for v in schema] if isinstance(schema, list) else schema


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
