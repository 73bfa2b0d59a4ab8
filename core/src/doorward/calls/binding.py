"""Checks the arguments of a call against the JSON Schema of the function.

An error says which argument is wrong and what was expected. It shows the right signature, or the parameter or class in
question.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from doorward.calls.checked_parameters import CheckedParameters, checked_parameters
from doorward.catalog.texts import Mistaken, Mistakes
from doorward.data.json_writing import exceeds
from doorward.data.languages import PYTHON, is_script
from doorward.data.values import plain
from doorward.model.errors import InvalidArguments
from doorward.model.functions import Function
from doorward.servers.corrections import advice

if TYPE_CHECKING:
    from doorward.catalog.catalog import Catalog

MAX_ARGUMENT_PARTS = 200_000
"""Values in the arguments of one call."""

_MAX_PARTS_EXPLAINED = 100
"""Arguments of more values get only their first mistake explained: finding every mistake in them takes long."""

_MAX_PARTS_WITH_NULLS = 10_000
"""The same limit where the first mistake is a null, which may be none."""


def bind(
    function: Function,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    catalog: Catalog,
    language: str = PYTHON,
    unknown: Callable[[Any], bool] | None = None,
) -> dict[str, Any]:
    """Positional and keyword arguments as one checked dictionary. Where the language of the program has no keywords,
    an object in the last place stands for them. Arguments that are `unknown` yet are not checked.

    Raises: InvalidArguments.
    """
    checked = checked_parameters(function, catalog)
    names = checked.names
    last = args[-1] if args and not kwargs and is_script(language) else None
    rest = names[len(args) - 1 :]
    if isinstance(last, Mapping) and (len(args) == 1 or {checked.by_original.get(n, n) for n in last} <= {*rest}):
        args, kwargs = args[:-1], last
    if len(args) > len(names):
        raise _invalid(function, catalog, f"takes {len(names)} arguments, got {len(args)}", language)
    given = dict(zip(names, args, strict=False))
    for name, value in kwargs.items():
        name = checked.by_original.get(name, name)
        if name in given:
            raise _invalid(function, catalog, f"got two values for {name!r}", language)
        given[name] = value
    bound = {str(name): plain(value, keep=(int, bytes)) for name, value in given.items()}
    sent = {name: value for name, value in bound.items() if value is not None or not checked.omissible(name)}
    known = {name: value for name, value in sent.items() if not unknown(value)} if unknown else sent
    if not checked.valid(known) and (told := _mistakes(checked, known, catalog, language, sent)):
        explained, how = told
        raise _invalid(function, catalog, "; ".join([*explained, *how]), language, list(explained.values()))
    return bound if function.sends_null else sent


def fits(function: Function, name: str, value: Any, catalog: Catalog) -> bool:
    """Whether a value is valid for this parameter of the function."""
    return checked_parameters(function, catalog).fits(name, value)


def takes_text(function: Function, name: str, text: str, catalog: Catalog) -> bool:
    """Whether this parameter may be text: what is wrong with that one, if anything, is not its type."""
    return not any(map(is_of_another_type, checked_parameters(function, catalog).errors(name, text)))


def _mistakes(
    checked: CheckedParameters, bound: Mapping[str, Any], catalog: Catalog, language: str, given: Collection[str]
) -> tuple[Mistakes, list[str]] | None:
    """The mistakes in arguments that are not valid, and what the operator can do to have them accepted; `None` if all
    of them are nulls that say nothing, or about what is `given` without being known."""
    import jsonschema_rs

    function, value = checked.function, plain(bound, keep=(int,))
    try:
        checked.validator.validate(value)
        return None
    except jsonschema_rs.ValidationError as error:
        many = exceeds(value, _MAX_PARTS_WITH_NULLS if of_null(error, value) else _MAX_PARTS_EXPLAINED)
        errors = [error] if many else [e for e in checked.validator.iter_errors(value) if not of_null(e, value)]
    if given is not bound:
        errors = [e for e in checked.validator.iter_errors(value) if not _lacks(e, given)]
    wrong = Mistaken(function, errors, bound, checked.names, checked.fits)
    told = catalog.texts.mistakes(wrong, partial(catalog.definition, function.server), language)
    known = not told or any("did you mean" in said for said in told)
    return (told, [] if known else advice(function, errors)) if told else None


def _lacks(error: Any, given: Collection[str]) -> bool:
    """Whether the mistake is that a parameter is missing which was given."""
    return error.kind.name == "required" and not error.instance_path and error.kind.property in given


def _invalid(
    function: Function, catalog: Catalog, why: str, language: str, places: Sequence[Sequence[Any]] = ((),)
) -> InvalidArguments:
    """The error, with what the values at these places should be."""
    definitions = partial(catalog.definition, function.server)
    return InvalidArguments(
        f"{function.qualified} {why}", hint=catalog.texts.correct(function, definitions, places, language)
    )


def of_null(error: Any, arguments: Mapping[str, Any]) -> bool:
    """Whether the only mistake is a null inside an argument. APIs answer with nulls that their documents do not
    mention, and accept them in turn: the API must judge."""
    if error.kind.name in ("anyOf", "oneOf"):
        return any(
            errors and all(of_null(e, arguments) for e in errors)
            for errors in getattr(error.kind, "context", None) or ()
        )
    inside = any(arguments.get(name) is not None for name in list(error.instance_path)[:1])
    return error.instance is None and inside and error.kind.name in ("type", "enum", "const")


def is_of_another_type(error: Any) -> bool:
    """Whether the mistake is the type of a value as a whole, whichever alternative is meant."""
    if error.kind.name in ("anyOf", "oneOf"):
        alternatives = getattr(error.kind, "context", None) or ()
        return bool(alternatives) and all(any(map(is_of_another_type, errors)) for errors in alternatives)
    if error.kind.name in ("const", "enum"):
        options = error.kind.options if error.kind.name == "enum" else [error.kind.expected_value]
        return not any(isinstance(option, type(error.instance)) for option in options)
    return bool(error.kind.name == "type")
