"""Functions as agents read them that write no code: types, and JSON to send as it stands."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from doorward.model.functions import Function
from doorward_text.cards import describe
from doorward_text.signatures import signature

NONE: dict[str, Any] = {}


def card(function: Function) -> str:
    return describe(function, NONE.get, module=function.server, language="json")


def sent(text: str) -> Any:
    """What the example of a card sends."""
    shown = re.search(r"^call_function\((.*)\)$", text, re.MULTILINE)
    assert shown, text
    return json.loads(shown[1])


def test_a_card() -> None:
    """Documentation, arguments, answer, example; no import, and integers apart from other numbers."""
    issue = {"type": "object", "properties": {"number": {"type": "integer"}, "weight": {"type": "number"}}}
    taken = {
        "type": "object",
        "properties": {
            "repo": {"type": "string", "description": "Whose"},
            "labels": {"type": "array", "items": {"type": "string"}},
            "state": {"enum": ["open", "closed"], "default": "open"},
        },
        "required": ["repo"],
    }
    text = card(Function("git", "find", "find", "Find one", parameters=taken, returns=issue, read_only=True))
    assert (
        text
        == """\
// Find one
// find · read-only
git.find({
    repo: string;  // Whose
    labels?: string[];
    state?: "open" | "closed";  // = "open"
}): FindResponse

FindResponse = {
    number: integer;
    weight: number;
}

call_function({"function": "git.find", "arguments": {"repo": "repo"}})"""
    )


@pytest.mark.parametrize(
    ("name", "schema"),
    [
        ("x-y z", {"type": "string"}),
        ("__proto__", {"type": "integer"}),
        ('qu"ote', {"type": "boolean"}),
        ("a", {"type": "string", "example": 'a "b" \u202e \x85 \ud800'}),
        ("a", {"type": "object", "properties": {"b c": {"type": "null"}}, "required": ["b c"]}),
        ("a", {"type": "array", "items": {"type": "number"}, "example": [1.5, -2e300]}),
        ("a", {"type": "string", "format": "binary"}),
        ("a", {}),
    ],
)
def test_its_example_is_json_whatever_a_document_says(name: str, schema: dict[str, Any]) -> None:
    """Names that no program could write, and characters that hide something."""
    parameters = {"type": "object", "properties": {name: schema}, "required": [name]}
    text = card(Function("s", "f", parameters=parameters))
    assert sent(text)["function"] == "s.f"
    assert [*sent(text)["arguments"]] == [name]
    assert all(c.isprintable() for line in text.splitlines() for c in line)


def test_few_and_many_arguments() -> None:
    """None at all; any others."""
    assert signature(Function("s", "f"), NONE.get, language="json") == "s.f({}): any"
    free = {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": True}
    assert signature(Function("s", "f", parameters=free), NONE.get, language="json") == (
        "s.f({\n    a?: string;\n    [name: string]: any;  // any others\n}): any"
    )


def test_files() -> None:
    """No bytes: nobody can write them in JSON."""
    file = {"type": "string", "format": "binary"}
    parameters = {"type": "object", "properties": {"file": file}, "required": ["file"]}
    told = signature(Function("s", "f", parameters=parameters, returns=file), NONE.get, language="json")
    assert "file: string | { artefact: string } | { base64: string; name?: string }" in told
    assert told.endswith("): { artefact: string }")
    assert "bytes" not in told
