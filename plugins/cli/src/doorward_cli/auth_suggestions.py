"""The `auth` that a server seems to want: what its source suggests, as far as the installed plugins can use it, in
the form of the configuration."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from doorward import ConfigError, MissingSecret, Suggestion, Template
from doorward.administration import Plugins, Report
from doorward.configuration import Secrets, find, validate

_ONE_PLACE_TYPES = ("api_key", "basic")
"""Types of auth that put one credential in one place, so it is plain whether they fit; other types may obtain any
kind of token."""


class _Set(dict[str, str]):
    """An environment in which every variable is set."""

    def get(self, key: str, default: Any = None) -> str:
        return "set"


def usable(found: Report | Sequence[Suggestion], plugins: Plugins) -> list[Suggestion]:
    """The suggestions of a compile, best first, without those whose type of auth is not installed or refuses them."""
    suggestions = [Suggestion(**each) for each in found.auth] if isinstance(found, Report) else found
    return [suggestion for suggestion in suggestions if _fits(suggestion, plugins)]


def _fits(suggestion: Suggestion, plugins: Plugins) -> bool:
    if not all(map(_is_of_variables, _texts(suggestion.auth))):
        return False
    secrets = Secrets(environ=_Set())
    try:
        for table in suggestion.auth:
            options = {key: value for key, value in table.items() if key != "type"}
            validate(plugins.driver("auth", table["type"]).Settings, options, secrets=secrets, place="auth")
    except ConfigError:
        return False
    return True


def _is_of_variables(text: str) -> bool:
    """Whether a text refers to variables only: a source must not name the operator's files or commands."""
    try:
        return not any(reference.scheme for reference in find(text))
    except MissingSecret:
        return False


def value(suggestion: Suggestion) -> Any:
    """The value of `auth` for a suggestion: a table, or a list of tables if several are needed."""
    tables = [dict(table) for table in suggestion.auth]
    return tables[0] if len(tables) == 1 else tables


def variables(auth: Any) -> list[str]:
    """The variables that tables of `auth` name."""
    return list(dict.fromkeys(r.name for text in _texts(auth) for r in find(text) if not r.scheme))


def templates(auth: Any, secrets: Secrets) -> list[Template]:
    """The texts of tables of `auth`, for a server whose settings cannot be read because a variable is missing."""
    return [Template(text, secrets) for text in _texts(auth)]


def _texts(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case Mapping():
            yield from _texts(list(value.values()))
        case list() | tuple():
            for part in value:
                yield from _texts(part)


def mismatches(auth: Any, suggestions: Sequence[Suggestion]) -> Iterator[str]:
    """Where a configured `auth` contradicts the document: a place that it does not know, or missing scopes."""
    known = [table for suggestion in suggestions for table in suggestion.auth]
    types = list(dict.fromkeys(str(table["type"]) for table in known))
    for table in auth if isinstance(auth, list) else [auth]:
        kind, alike = table.get("type"), [each for each in known if each["type"] == table.get("type")]
        if known and kind in _ONE_PLACE_TYPES and not alike:
            yield f"auth is of the type {kind}; its document knows {' and '.join(types)}"
        elif kind == "api_key" and alike and not any(_place(each) == _place(table) for each in alike):
            places = " and ".join(dict.fromkeys(map(_place, alike)))
            yield f"auth has an API key in {_place(table)}; its document knows {places}"
        needed = next((each["scope"] for each in alike if "scope" in each), ())
        if needed and (given := table.get("scope")):
            have = given.split() if isinstance(given, str) else given
            if missing := [scope for scope in needed if scope not in have]:
                yield f"auth asks for no scope {', '.join(missing)}, which functions of it need"


def _place(table: Mapping[str, Any]) -> str:
    name, where = str(table.get("name")), table.get("in", "header")
    return f"{where} {name.lower() if where == 'header' else name}"
