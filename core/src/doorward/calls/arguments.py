"""Checks the arguments of a call against the JSON Schema of the function.

An error says which argument is wrong and what was expected. It shows the right signature, or the parameter or class in
question.
"""

from __future__ import annotations

import contextlib
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from doorward.calls.artefacts import PREFIX, handle
from doorward.calls.checked_schema import unfolded
from doorward.calls.validation_messages import Mistakes, mistakes, of_null
from doorward.data.json_writing import exceeds
from doorward.data.near_names import nearest
from doorward.data.values import MAX_DEPTH, plain
from doorward.describe.cards import class_at, fields_at
from doorward.describe.schemas import Definitions
from doorward.describe.signatures import parameter_lines, parameter_names, signature
from doorward.model.calls import Call, File
from doorward.model.errors import InvalidArguments
from doorward.model.functions import Function
from doorward.programs.languages import PYTHON, is_script
from doorward.servers.corrections import advice

if TYPE_CHECKING:
    from doorward.catalog.catalog import Catalog

MAX_ARGUMENT_PARTS = 200_000
"""Values in the arguments of one call."""

_MAX_VALIDATORS = 1024
"""Compiled validators that are kept."""

_MAX_CLASSES_SHOWN = 2
"""Mistakes for which the error shows the right class."""

_MAX_PARTS_EXPLAINED = 100
"""Arguments of more values get only their first mistake explained: finding every mistake in them takes long."""

_MAX_PARTS_WITH_NULLS = 10_000
"""The same limit where the first mistake is a null, which may be none."""

_validators: OrderedDict[tuple[int, str], tuple[Function, Any]] = OrderedDict()


def bind(
    function: Function,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    catalog: Catalog,
    language: str = PYTHON,
) -> dict[str, Any]:
    """Positional and keyword arguments as one checked dictionary. Where the language of the program has no keywords,
    an object in the last place stands for them.

    Raises: InvalidArguments.
    """
    names = parameter_names(function, partial(catalog.definition, function.server))
    last = args[-1] if is_script(language) and args and not kwargs else None
    if isinstance(last, Mapping) and (len(args) == 1 or last.keys() <= {*names[len(args) - 1 :]}):
        args, kwargs = args[:-1], last
    if len(args) > len(names):
        raise _invalid(function, catalog, f"takes {len(names)} arguments, got {len(args)}", language)
    bound = dict(zip(names, args, strict=False))
    ours = {original: name for name, original in function.names.items() if original not in names}
    for name, value in kwargs.items():
        name = ours.get(name, name)
        if name in bound:
            raise _invalid(function, catalog, f"got two values for {name!r}", language)
        bound[name] = value
    bound = {str(k): plain(v, keep=(int, bytes)) for k, v in bound.items()}
    given = {
        name: value for name, value in bound.items() if value is not None or not _omissible(function, name, catalog)
    }
    told, how = _mistakes(function, given, names, catalog, language)
    if told:
        raise _invalid(function, catalog, "; ".join([*told, *how]), language, list(told.values()))
    return bound if function.sends_null else given


def opened(call: Call, open: Callable[[str], File]) -> dict[str, Any]:
    """The arguments of a call with a `File` in the place of each handle, `{"artefact": "doorward://results/…"}`.

    Where the function takes bytes, a bare URI and `{"content": bytes or text, "name"?, "type"?}` become files, too;
    elsewhere they may be ordinary values. `open` gets the file of a URI; the handle may give it a name and another
    type.
    """
    properties = call.function.parameters.get("properties", {})
    return {name: _opened(value, open, _bytes_there(properties.get(name)), 0) for name, value in call.arguments.items()}


def _opened(value: Any, open: Callable[[str], File], bytes_there: bool, depth: int) -> Any:
    if (uri := handle(value)) is not None:
        file = open(uri)
        return replace(file, type=str(value.get("type") or file.type), name=str(value.get("name") or file.name))
    match value:
        case str() if bytes_there and value.startswith(PREFIX):
            return open(value)
        case {"content": str() | bytes() as content, **about} if bytes_there and about.keys() <= {"name", "type"}:
            content = content.encode(errors="replace") if isinstance(content, str) else content
            return File(content, str(about.get("type") or ""), str(about.get("name") or ""))
        case dict() if depth < MAX_DEPTH:
            return {k: _opened(v, open, False, depth + 1) for k, v in value.items()}
        case list() if depth < MAX_DEPTH:
            return [_opened(v, open, bytes_there, depth + 1) for v in value]
    return value


def takes_file(function: Function, name: str) -> bool:
    """Whether this parameter itself is a file."""
    schema = function.parameters.get("properties", {}).get(name)
    return any(part.get("format") == "binary" for part in _offered(schema))


def _bytes_there(schema: Any) -> bool:
    """Whether a parameter, or an item of its list, may be a file."""
    offered = _offered(schema)
    return any(part.get("format") == "binary" for each in offered for part in (each, *_offered(each.get("items"))))


def _offered(schema: Any) -> list[Mapping[str, Any]]:
    """A schema and its alternatives."""
    parts = (
        [schema, *schema["anyOf"]]
        if isinstance(schema, Mapping) and isinstance(schema.get("anyOf"), list)
        else [schema]
    )
    return [part for part in parts if isinstance(part, Mapping)]


def fits(function: Function, name: str, value: Any, catalog: Catalog) -> bool:
    """Whether a value is valid for this parameter of the function."""
    return not any(
        list(error.instance_path)[:1] == [name] for error in _validator(function, catalog).iter_errors({name: value})
    )


def _omissible(function: Function, name: str, catalog: Catalog) -> bool:
    """Whether None for a parameter means that it has no value: it is optional, and its schema does not allow null."""
    parameters = function.parameters
    return (
        name in parameters.get("properties", {})
        and name not in parameters.get("required", ())
        and not fits(function, name, None, catalog)
    )


def _mistakes(
    function: Function, bound: Mapping[str, Any], names: Sequence[str], catalog: Catalog, language: str
) -> tuple[Mistakes, list[str]]:
    """The mistakes in arguments, and what the operator can do to have them accepted. JSON Schema sees bytes as text."""
    import jsonschema_rs

    value, validator = plain(bound, keep=(int,)), _validator(function, catalog)
    try:
        validator.validate(value)
    except jsonschema_rs.ValidationError as error:
        if exceeds(value, _MAX_PARTS_WITH_NULLS if of_null(error, value) else _MAX_PARTS_EXPLAINED):
            errors = [error]
        else:
            errors = [e for e in validator.iter_errors(value) if not of_null(e, value)]
        told = mistakes(
            errors,
            lambda place: fields_at(function, _definitions(function, catalog), place) if place else names,
            language,
        )
        told = {_renamed(function, said, place, bound, catalog): place for said, place in told.items()}
        return told, [] if not told or any("did you mean" in said for said in told) else advice(function, errors)
    return {}, []


def _renamed(function: Function, said: str, place: Sequence[Any], bound: Mapping[str, Any], catalog: Catalog) -> str:
    """A mistake about an argument, with the parameter that was probably meant: the value fits it, and its name is
    similar or the same in the API."""
    name = place[0] if len(place) == 1 else ""
    if name not in bound or "did you mean" in said or exceeds(bound[name], _MAX_PARTS_WITH_NULLS):
        return said
    others = [other for other in function.parameters.get("properties", {}) if other not in bound]
    same = [other for other in others if function.names.get(other, other) == function.names.get(name, name)]
    meant = [other for other in [*same, *nearest(name, others, 3)] if fits(function, other, bound[name], catalog)]
    return f"{said}; did you mean {meant[0]!r}?" if meant else said


def _definitions(function: Function, catalog: Catalog) -> Definitions:
    return lambda name: catalog.definition(function.server, name)


def _validator(function: Function, catalog: Catalog) -> Any:
    """A compiled validator, kept as long as the function's record."""
    key = (id(catalog), function.qualified)
    kept = _validators.get(key)
    if kept and kept[0] is function:
        return kept[1]
    import jsonschema_rs

    schema = unfolded(function.parameters, partial(catalog.definition, function.server))
    names_only = {**schema, "properties": dict.fromkeys(function.parameters.get("properties", {}), True)}
    validator: Any = None
    for candidate in (lambda: schema, lambda: _without_patterns(schema), lambda: names_only, lambda: True):
        with contextlib.suppress(ValueError, RecursionError):  # a schema of the document may be invalid
            validator = jsonschema_rs.Draft202012Validator(candidate(), validate_formats=False)
            break
    _validators[key] = (function, validator)
    if len(_validators) > _MAX_VALIDATORS:
        _validators.popitem(last=False)
    return validator


def _without_patterns(schema: Any) -> Any:
    """The schema without regular expressions: dialects differ, and one that does not compile must not disable the
    other checks."""
    if isinstance(schema, Mapping):
        return {k: _without_patterns(v) for k, v in schema.items() if not (k == "pattern" and isinstance(v, str))}
    return [_without_patterns(v) for v in schema] if isinstance(schema, list) else schema


def _invalid(
    function: Function, catalog: Catalog, why: str, language: str, places: Sequence[Sequence[Any]] = ((),)
) -> InvalidArguments:
    """The error with a hint: the classes of the wrong values, and the lines of parameters without a class; or the whole
    signature if it is unknown which parameter was meant."""
    definitions = partial(catalog.definition, function.server)
    classes = {tuple(place): class_at(function, definitions, place, language) for place in places[:_MAX_CLASSES_SHOWN]}
    bare = {next(iter(place), "") for place, text in classes.items() if not text}
    lines = parameter_lines(function, definitions, bare, language)
    told = ["\n".join(["In the signature:", *lines]) if lines else ""]
    if len(lines) < len(bare):
        told = [f"The right signature:\n{signature(function, definitions, language=language)}"]
    return InvalidArguments(
        f"{function.qualified} {why}", hint="\n\n".join(filter(None, dict.fromkeys([*told, *classes.values()])))
    )
