"""Checks the arguments of a call against the JSON Schema of the function.

An error says which argument is wrong and what was expected. It shows the right signature, or the parameter or class in
question.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from doorward.catalog import checked_schema
from doorward.catalog.schemas import parameter_names
from doorward.catalog.texts import Mistaken, Mistakes
from doorward.data.json_writing import exceeds
from doorward.data.languages import PYTHON, is_script
from doorward.data.values import plain
from doorward.model.errors import InvalidArguments, ServerError
from doorward.model.functions import Function

if TYPE_CHECKING:
    from doorward.catalog.catalog import Catalog

_MAX_KEPT = 1024
"""Functions whose parameters are kept."""

_kept: OrderedDict[tuple[int, str], CheckedParameters] = OrderedDict()


def checked_parameters(function: Function, catalog: Catalog) -> CheckedParameters:
    """The parameters of a function, kept as long as the function's record."""
    key = id(catalog), function.qualified
    found = _kept.get(key)
    if found is None or found.function is not function:
        found = _kept[key] = CheckedParameters(function, catalog)
        if len(_kept) > _MAX_KEPT:
            _kept.popitem(last=False)
    return found


class CheckedParameters:
    """The parameters of one function; each fact is found out when it is first asked for."""

    def __init__(self, function: Function, catalog: Catalog) -> None:
        self.function = function
        self._definitions = partial(catalog.definition, function.server)
        self._omissible: dict[str, bool] = {}

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names in the order of positional arguments."""
        return tuple(parameter_names(self.function, self._definitions))

    @cached_property
    def by_original(self) -> Mapping[str, str]:
        """The names by those that they have in the API, where these are no names of other parameters."""
        names = self.function.names.items()
        return {original: name for name, original in names if original not in self.names}

    def omissible(self, name: str) -> bool:
        """Whether None for a parameter means that it has no value: it is optional, and its schema does not allow
        null."""
        if name not in self._omissible:
            parameters = self.function.parameters
            if name not in parameters.get("properties", {}):
                return False  # a program may write any name: nothing is kept of those
            self._omissible[name] = name not in parameters.get("required", ()) and not self.fits(name, None)
        return self._omissible[name]

    def fits(self, name: str, value: Any) -> bool:
        """Whether a value is valid for a parameter."""
        return not self.errors(name, value)

    def errors(self, name: str, value: Any) -> list[Any]:
        """The errors of jsonschema_rs about the value of a parameter."""
        errors = self.validator.iter_errors({name: value})
        return [error for error in errors if list(error.instance_path)[:1] == [name]]

    def valid(self, arguments: Mapping[str, Any]) -> bool:
        """Whether arguments, which may hold bytes, are valid. JSON Schema sees bytes as text."""
        try:
            return bool(self.validator.is_valid(arguments))
        except ValueError:  # it knows no bytes
            return bool(self.validator.is_valid(plain(arguments, keep=(int,))))

    @cached_property
    def validator(self) -> Any:
        """The compiled schema, without patterns that cannot be compiled. Raises: ServerError."""
        if (found := checked_schema.validator(self.function.parameters, self._definitions)) is not None:
            return found
        raise ServerError(
            f"the schema of {self.function.qualified} cannot be read, so that its arguments cannot be checked",
            hint="Tell the operator: `doorward compile --force` reads it again, and says what is wrong.",
        )


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
) -> tuple[Mistakes, Sequence[str]] | None:
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
    return (told, [] if known else catalog.texts.advice(wrong)) if told else None


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
