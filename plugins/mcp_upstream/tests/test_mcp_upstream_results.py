"""The one rule for the value of a call, and bytes among arguments."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from doorward import File, InvalidArguments, ToolError
from doorward_mcp_upstream.tools.files import sent
from doorward_mcp_upstream.tools.results import of_prompt, of_resource, of_tool
from hypothesis import given
from hypothesis import strategies as st

PNG = base64.b64encode(b"\x89PNG").decode()


def text(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("content", "value"),
    [
        ([], None),
        (None, None),
        ([text("plain")], "plain"),
        ([text('{"a": [1]}')], {"a": [1]}),
        ([text(" [1, 2]\n")], [1, 2]),
        ([text("12")], "12"),
        ([text("true")], "true"),
        ([text('"x"')], '"x"'),
        ([text("{not json")], "{not json"),
        ([text("[NaN]")], "[NaN]"),
        ([text("[" * 100_000)], "[" * 100_000),
        ([text("[{'a': 1}]")], "[{'a': 1}]"),
        ([text("a"), text("{}")], ["a", {}]),
        ([{"type": "image", "data": PNG, "mimeType": "image/png"}], File(b"\x89PNG", "image/png")),
        ([{"type": "audio", "data": PNG, "mimeType": "audio/wav"}, text("x")], [File(b"\x89PNG", "audio/wav"), "x"]),
        ([{"type": "image", "data": "§", "mimeType": "image/png"}], "§"),
        ([{"type": "resource", "resource": {"uri": "file:///a/b.bin?x", "blob": PNG}}], File(b"\x89PNG", "", "b.bin")),
        ([{"type": "resource", "resource": {"uri": "x", "mimeType": "application/json", "text": "{}"}}], {}),
        ([{"type": "resource_link", "uri": "u", "name": "n", "_meta": {}}], {"uri": "u", "name": "n"}),
        ([{"type": "new", "x": 1}], {"type": "new", "x": 1}),
        (["garbage", 7], ["garbage", 7]),
    ],
)
def test_each_block_is_a_value(content: Any, value: Any) -> None:
    """CONTRACT: SRC-25."""
    assert of_tool({"content": content}) == value


@pytest.mark.parametrize(
    ("structured", "wrapped", "value"),
    [
        ({"a": 1}, "", {"a": 1}),
        ({"result": 1}, "", {"result": 1}),
        ({"result": [1]}, "result", [1]),
        ({"result": None}, "result", None),
        ({"result": 1, "more": 2}, "result", {"result": 1, "more": 2}),
        ({"content": "a"}, "content", "a"),
        ({}, "", {}),
        ([1], "result", [1]),
    ],
)
def test_structured_content_comes_first(structured: Any, wrapped: str, value: Any) -> None:
    """CONTRACT: SRC-25."""
    assert (
        of_tool({"content": [text("other")], "structuredContent": structured, "isError": False}, wrapped=wrapped)
        == value
    )


@pytest.mark.parametrize(
    ("structured", "declared", "value"),
    [
        ({"document": "other"}, False, "other"),
        ({"document": "other"}, True, {"document": "other"}),
        ({"document": "another"}, False, {"document": "another"}),
        ({"document": "other", "pages": 1}, False, {"document": "other", "pages": 1}),
    ],
)
def test_what_only_repeats_the_text_is_the_text(structured: Any, declared: bool, value: Any) -> None:
    """Unless an output schema declares it. CONTRACT: SRC-25."""
    result = {"content": [text("other")], "structuredContent": structured}
    assert of_tool(result, declared=declared) == value


def test_a_program_may_want_the_text() -> None:
    """It is asked with the value and the only text, where they differ. CONTRACT: SRC-25."""
    asked = []

    def wants(value: Any, said: str, declared: bool) -> bool:
        asked.append((value, said))
        return True

    assert of_tool({"content": [text('{"a": 1}')]}, wants_text=wants) == '{"a": 1}'
    assert of_tool({"content": [text("plain")]}, wants_text=wants) == "plain"
    assert of_tool({"content": [text("1"), text("2")]}, wants_text=wants) == ["1", "2"]
    assert asked == [({"a": 1}, '{"a": 1}')]


def test_a_failure_is_raised_with_its_text() -> None:
    with pytest.raises(ToolError, match=r'^the tool says: "no such file\\nreally"$'):
        of_tool({"isError": True, "content": [text("no such file"), text("\x1b[31mreally"), {"type": "image"}]})
    with pytest.raises(ToolError, match="code"):
        of_tool({"isError": True, "structuredContent": {"code": 7}, "content": []})
    with pytest.raises(ToolError, match=r'^the tool says: "query: too long"$'):
        of_tool(
            {
                "isError": True,
                "structuredContent": {"errors": [{"field": "query", "message": "too long"}]},
                "content": [],
            }
        )
    with pytest.raises(ToolError, match="failed"):
        of_tool({"isError": True})


def test_resources_and_prompts() -> None:
    assert of_resource({"contents": [{"uri": "a", "text": "[1]"}]}) == [1]
    assert of_resource({"contents": [{"uri": "a/b", "blob": PNG, "mimeType": "image/png"}, {"text": "t"}]}) == [
        File(b"\x89PNG", "image/png", "b"), "t",
    ]  # fmt: skip
    assert of_resource({}) is None
    messages = [
        {"role": "user", "content": text("{}")},
        {"role": "assistant", "content": {"type": "image", "data": PNG, "mimeType": "image/png"}},
        "garbage",
    ]
    assert of_prompt({"description": "d", "messages": messages}) == {
        "description": "d",
        "messages": [
            {"role": "user", "content": "{}"},
            {"role": "assistant", "content": File(b"\x89PNG", "image/png")},
        ],
    }


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)


@pytest.mark.slow
@given(JSON.filter(lambda value: isinstance(value, (dict, list))))
def test_json_in_a_text_comes_back_as_it_was(value: Any) -> None:
    assert of_tool({"content": [text(json.dumps(value))]}) == value


@pytest.mark.slow
@given(
    st.dictionaries(
        st.sampled_from(["content", "structuredContent", "contents", "messages"]), JSON | st.lists(JSON, max_size=3)
    )
)
def test_whatever_a_server_answers_has_a_value(result: dict[str, Any]) -> None:
    """CONTRACT: SRC-25."""
    of_tool(result)
    of_resource(result)
    assert set(of_prompt(result)) == {"description", "messages"}


SCHEMA = {
    "$defs": {"Blob": {"type": "string", "contentEncoding": "base64"}},
    "properties": {
        "blob": {"$ref": "#/$defs/Blob"},
        "binary": {"type": "string", "format": "binary"},
        "url": {"anyOf": [{"type": "null"}, {"type": "string", "contentEncoding": "base64url"}]},
        "list": {"type": "array", "items": {"properties": {"data": {"allOf": [{"$ref": "#/$defs/Blob"}]}}}},
        "map": {"additionalProperties": {"format": "byte"}},
        "text": {"type": "string"},
        "any": {},
    },
}


def test_files_are_sent_as_the_schema_says() -> None:
    file, raw = File(b"\xfb\xff", "x/y", "n"), b"\xfb\xff"
    given = {
        "blob": file,
        "binary": raw,
        "url": file,
        "list": [{"data": file, "name": "n"}],
        "map": {"k": raw},
        "text": "t",
        "any": [1],
    }
    assert sent(given, SCHEMA) == {
        "blob": "+/8=", "binary": "+/8=", "url": "-_8=", "list": [{"data": "+/8=", "name": "n"}], "map": {"k": "+/8="},
        "text": "t", "any": [1],
    }  # fmt: skip


@pytest.mark.parametrize(
    "given", [{"text": b"x"}, {"any": File(b"x")}, {"any": {"deep": [File(b"x")]}}, {"unknown": b"x"}]
)
def test_files_are_refused_where_no_schema_says_how(given: Any) -> None:
    with pytest.raises(InvalidArguments, match="does not say how"):
        sent(given, SCHEMA)


def test_a_schema_in_a_circle_ends() -> None:
    circle: Any = {"properties": {"a": {"$ref": "#/$defs/A"}}, "$defs": {"A": {"anyOf": [{"$ref": "#/$defs/A"}] * 50}}}
    with pytest.raises(InvalidArguments):
        sent({"a": b"x"}, circle)
