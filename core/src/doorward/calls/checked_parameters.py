"""What the checks of a call need to know of its function's parameters, found out once and kept."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from doorward.catalog import checked_schema
from doorward.catalog.schemas import parameter_names
from doorward.data.values import plain
from doorward.model.errors import ServerError

if TYPE_CHECKING:
    from doorward.catalog.catalog import Catalog
    from doorward.model.functions import Function

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
