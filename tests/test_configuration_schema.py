"""The JSON Schema of the configuration with every distribution installed, as an editor reads it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import jsonschema_rs
import pytest
from doorward.administration import Plugins
from doorward.configuration import find_index
from doorward_auth_session.settings import SessionSettings
from doorward_cli.schema import whole
from doorward_durable_runs.plans.settings import PlanSettings
from doorward_sandbox_nsjail.settings import NsjailSettings
from pydantic import ValidationError


@cache
def document() -> dict[str, Any]:
    return whole(Plugins(find_index()))


def keys(part: Any, place: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Each key of each table, and its schema, wherever it stands."""
    if isinstance(part, dict):
        if isinstance(properties := part.get("properties"), dict):
            yield from ((f"{place}.{key}", schema) for key, schema in properties.items())
        for name, inner in part.items():
            yield from keys(inner, f"{place}/{name}")
    elif isinstance(part, list):
        for number, inner in enumerate(part):
            yield from keys(inner, f"{place}[{number}]")


def test_every_key_is_described() -> None:
    """`source` and `type`, which choose what the other keys are, included."""
    definitions = document()["$defs"]
    bare = [
        place
        for place, schema in keys(document())
        if not {**definitions.get(schema.get("$ref", "").rpartition("/")[2], {}), **schema}.get("description")
    ]
    assert bare == []


def test_one_value_stands_for_a_list_everywhere() -> None:
    """No list of texts or of numbers is wanted as a list."""
    lists = [
        place
        for place, schema in keys(document())
        if schema.get("type") == "array" and schema["items"].get("type") in ("string", "integer")
    ]
    assert lists == []


@pytest.mark.parametrize(
    ("settings", "given", "read"),
    [
        (PlanSettings, {"ignore": "*_at"}, {"ignore": ("*_at",)}),
        (NsjailSettings, {"packages": "requests"}, {"packages": ("requests",)}),
        (NsjailSettings, {"paths": "/usr/bin"}, {"paths": ("/usr/bin",)}),
    ],
)
def test_the_parser_takes_it(settings: Any, given: dict[str, Any], read: dict[str, Any]) -> None:
    """One text in the place of several, of whatever type they are."""
    made = settings.model_validate(given)
    assert {key: tuple(map(str, getattr(made, key))) for key in read} == read


def test_a_number_is_a_number() -> None:
    """One status for several; true is none."""
    made = SessionSettings.model_validate(
        {"login_url": "http://127.0.0.1/in", "username": "a", "password": "b", "expired": 419}
    )
    assert made.expired == [419]
    with pytest.raises(ValidationError):
        SessionSettings.model_validate(
            {"login_url": "http://127.0.0.1/in", "username": "a", "password": "b", "expired": True}
        )


@pytest.mark.parametrize(
    ("given", "fits"),
    [
        ({"limits": {"timeout": "${SECONDS}"}}, True),
        ({"policy": {"default": "${DEFAULT:-deny}"}}, True),
        ({"plans": {"enabled": "${PLANS}"}}, True),
        ({"limits": {"timeout": "soon"}}, False),
        ({"policy": {"default": "perhaps"}}, False),
    ],
)
def test_what_stands_elsewhere_fits(given: dict[str, Any], fits: bool) -> None:
    """The parser takes a reference for a number, for true or false, and for one of a few words; so does the schema."""
    assert jsonschema_rs.is_valid(document(), given) is fits
