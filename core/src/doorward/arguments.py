"""The arguments of a call against the function's JSON Schema; an error says which, what was expected, and shows the
right signature."""

from __future__ import annotations

import contextlib
import difflib
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from doorward.errors import InvalidArguments
from doorward.schemas import unfolded
from doorward.signatures import parameter_names, signature
from doorward.types import Function
from doorward.values import plain

if TYPE_CHECKING:
    from doorward.catalog import Catalog

MOST_PARTS = 200_000
"""Of the arguments of one call."""

_MOST = 1024
_validators: OrderedDict[tuple[int, str], tuple[Function, Any]] = OrderedDict()


def bind(function: Function, args: Sequence[Any], kwargs: Mapping[str, Any], catalog: Catalog) -> dict[str, Any]:
    """Positional and keyword arguments as one checked dictionary.

    Raises: InvalidArguments.
    """
    names = parameter_names(function, lambda name: catalog.definition(function.server, name))
    if len(args) > len(names):
        raise _invalid(function, catalog, f"takes {len(names)} arguments, got {len(args)}")
    bound = dict(zip(names, args, strict=False))
    for name, value in kwargs.items():
        if name in bound:
            raise _invalid(function, catalog, f"got two values for {name!r}")
        bound[name] = value
    bound = {str(k): plain(v, keep_bytes=True) for k, v in bound.items()}
    import jsonschema_rs

    try:
        _validator(function, catalog).validate(plain(bound))
    except jsonschema_rs.ValidationError as error:
        raise _invalid(function, catalog, _explain(error, names)) from None
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

    schema = unfolded(function.parameters, lambda name: catalog.definition(function.server, name))
    names_only = {**schema, "properties": dict.fromkeys(function.parameters.get("properties", {}), True)}
    validator: Any = None
    for candidate in (lambda: schema, lambda: _without_patterns(schema), lambda: names_only, lambda: True):
        with contextlib.suppress(ValueError, RecursionError):  # a document's own schemas may be none
            validator = jsonschema_rs.Draft202012Validator(candidate(), validate_formats=False)
            break
    _validators[key] = (function, validator)
    if len(_validators) > _MOST:
        _validators.popitem(last=False)
    return validator


def _without_patterns(schema: Any) -> Any:
    """The schema without regular expressions: dialects differ, and one that we cannot compile must not undo the rest."""
    if isinstance(schema, Mapping):
        return {k: _without_patterns(v) for k, v in schema.items() if not (k == "pattern" and isinstance(v, str))}
    return [_without_patterns(v) for v in schema] if isinstance(schema, list) else schema


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
