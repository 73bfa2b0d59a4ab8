"""Scalars → JSON Schema. A schema does not say how a custom scalar is written, so only well-known names mean
anything."""

from __future__ import annotations

from typing import Any

from graphql import GRAPHQL_MAX_INT, GRAPHQL_MIN_INT, GraphQLScalarType

from doorward_graphql.texts import line

_FORMATS = {
    "date": ("Date", "LocalDate", "ISO8601Date"),
    "date-time": ("DateTime", "ISO8601DateTime", "DateTimeISO", "OffsetDateTime", "Instant"),
    "time": ("Time", "LocalTime"),
    "uri": ("URI", "URL", "Url"),
    "uuid": ("UUID", "Uuid", "GUID"),
    "email": ("EmailAddress",),
}
_BY_NAME: dict[str, dict[str, Any]] = {
    "String": {"type": "string"},
    "Boolean": {"type": "boolean"},
    "Float": {"type": "number"},
    "ID": {"type": "string"},
    "Int": {"type": "integer"},
} | {name: {"type": "string", "format": form} for form, names in _FORMATS.items() for name in names}

_SENT: dict[str, dict[str, Any]] = {
    "ID": {"type": ["string", "integer"]},
    "Int": {"type": "integer", "minimum": GRAPHQL_MIN_INT, "maximum": GRAPHQL_MAX_INT},
}
"""What differs in arguments (GraphQL specification, sections 3.5.1 and 3.5.5)."""

_MAX_DESCRIPTION_CHARACTERS = 120


def scalar_schema(scalar: GraphQLScalarType, *, sent: bool) -> dict[str, Any]:
    """The JSON Schema of a scalar as an argument (`sent`) or in a result. An unknown one may be any value."""
    known = (_SENT if sent else {}).get(scalar.name) or _BY_NAME.get(scalar.name)
    if known is not None:
        return dict(known)
    about = line(scalar.description, _MAX_DESCRIPTION_CHARACTERS)
    some: dict[str, Any] = {"not": {"type": "null"}} if sent else {}
    return some | {"description": f"{scalar.name}: {about}" if about else scalar.name}
