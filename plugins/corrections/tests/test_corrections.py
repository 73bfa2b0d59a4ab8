"""What operators correct of documents: `extra` and `optional`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from doorward import Compiled, Function
from doorward_corrections.corrections import correct

TEXT = {"type": "string"}
ADDRESS = {"type": "object", "properties": {"street": TEXT, "zip": TEXT}, "required": ["street", "zip"]}
LOOP = {"allOf": [{"$ref": "#/$defs/Loop"}, {"$ref": "#/$defs/Loop"}], "required": ["far"]}


def function(name: str, **more: Any) -> Function:
    properties = {
        "id": TEXT,
        "email": TEXT,
        "address": {"$ref": "#/$defs/Address"},
        "others": {"type": "array", "items": {"anyOf": [{"$ref": "#/$defs/Address"}, {"type": "null"}]}},
        "loop": {"$ref": "#/$defs/Loop"},
    }
    parameters = {
        "type": "object",
        "properties": properties,
        "required": ["id", "email"],
        "additionalProperties": False,
    }
    return Function(
        "api", name, f"users.{name}", parameters=parameters, route="PUT /users/{id}", names={"email": "e-mail"}, **more
    )


def corrected(compiled: Compiled, *optional: str, extra: bool = False) -> Compiled:
    functions = [*compiled.functions]
    warnings = correct(functions, compiled.definitions, extra=extra, optional=optional)
    return replace(compiled, functions=functions, warnings=warnings)


def made(*optional: str, extra: bool = False) -> Compiled:
    functions = [function("create_user", open=True), function("update_user", aliases=("user_update",))]
    return corrected(Compiled(functions, {"Address": ADDRESS, "Loop": LOOP}), *optional, extra=extra)


@pytest.mark.parametrize(
    "entry", ["create_user.email", "users.create_user.email", "create_user.e-mail", "create_user.body.email"]
)
def test_an_argument_may_be_left_out(entry: str) -> None:
    """By a function's name or id, and the argument's name, or the upstream's, with or without `body`."""
    compiled = made(entry)
    assert [f.parameters["required"] for f in compiled.functions] == [["id"], ["id", "email"]]
    assert not compiled.warnings


def test_a_field_may_be_left_out_of_one_function() -> None:
    """A field of a type that functions share is optional where the operator says, through references, lists and
    alternatives."""
    compiled = made("create_user.address.street", "create_user.others.zip", "user_update.loop.far")
    create, update = compiled.functions
    properties = create.parameters["properties"]
    assert properties["address"]["required"] == ["zip"]
    assert properties["others"]["items"]["anyOf"] == [{**ADDRESS, "required": ["street"]}, {"type": "null"}]
    assert update.parameters["properties"]["address"] == {"$ref": "#/$defs/Address"}
    assert update.parameters["properties"]["loop"]["required"] == []
    assert compiled.definitions["Address"] == ADDRESS
    assert not compiled.warnings


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        ("crate_user.email", "fits no function; did you mean 'create_user.email'?"),
        ("email", "fits no function; write FUNCTION.ARGUMENT"),
        ("create_user", "fits no function; did you mean 'create_user.ARGUMENT'?"),
        ("create_user.emial", "create_user has no such argument or field; did you mean 'email'?"),
        ("create_user.address.streets", "create_user has no such argument or field; did you mean 'street'?"),
        ("create_user.nothing.at.all", "create_user has no such argument or field"),
        ("create_user.address", "it is not required"),
        ("create_user.id", "it is part of the path"),
        ("create_user.", "create_user has no such argument or field"),
        ("", "fits no function; write FUNCTION.ARGUMENT"),
    ],
)
def test_what_fits_nothing_is_told(entry: str, told: str) -> None:
    """An entry that corrects nothing is a warning with what was meant, and changes nothing."""
    compiled = made(entry)
    assert compiled.warnings == [f"optional: {entry!r}: {told}"]
    assert compiled.functions == made().functions


def test_wildcards_tell_only_if_nothing_fits() -> None:
    """A pattern of functions relaxes those that have the argument."""
    assert not made("*_user.email").warnings
    assert made("*_user.email").functions[1].parameters["required"] == ["id"]
    assert made("*_user.phone").warnings


def test_extra_opens_what_is_not_closed() -> None:
    """`extra` lets arguments pass that the document does not name, only where that does not forbid them."""
    assert [f.parameters["additionalProperties"] for f in made(extra=True).functions] == [True, False]
    assert [f.parameters["additionalProperties"] for f in made().functions] == [False, False]


def many(n: int) -> dict[str, Any]:
    """A definition that refers to the next one, or to itself, many times."""
    return {"allOf": [{"$ref": f"#/$defs/Many{min(n + 1, 9)}"} for _ in range(20)], "required": ["x"]}


def test_references_that_multiply_take_no_time() -> None:
    """A document of some lines holds up nobody, nor is its function a large one."""
    definitions = {f"Many{n}": many(n) for n in range(10)}
    one = Function("api", "f", "f", parameters={"type": "object", "properties": {"a": {"$ref": "#/$defs/Many0"}}})
    (lifted,) = corrected(Compiled([one], definitions), "f.a.x").functions
    assert lifted.parameters["properties"]["a"]["required"] == []
    assert len(str(lifted.parameters)) < 100_000


def test_a_field_in_schemas_without_end_takes_no_time() -> None:
    """References that fork at each step lead to more schemas than can be looked at: what was not found by then is not
    there."""
    forks = {f"C{n}": {"allOf": [{"$ref": f"#/$defs/C{n + 1}"}] * 6} for n in range(40)}
    one = Function("api", "f", "f", parameters={"type": "object", "properties": {"a": {"$ref": "#/$defs/C0"}}})
    compiled = corrected(Compiled([one], forks), "f.a.b")
    assert compiled.warnings == ["optional: 'f.a.b': f has no such argument or field"]
