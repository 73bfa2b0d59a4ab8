"""JSONC: read, and changed in one place."""

from __future__ import annotations

import json
import re
import time
from typing import Any

import pytest
from doorward_clients import jsonc
from hypothesis import given, settings
from hypothesis import strategies as st

ZED = """\
// Zed settings
{
  "theme": "One", // a "quoted" // word, and "http://x"
  /* servers,
     of mine */
  "context_servers": {
    "a": { "command": "x", "args": ["//no comment", "/* nor here */",], }, // mine
    // the next one
    "b": {
      "command": "y"
    } // last
  },
}
"""


def test_comments_and_commas_are_no_values() -> None:
    """Comments and trailing commas are read over, but not what looks like them in a text."""
    assert jsonc.loads(ZED) == {
        "theme": "One",
        "context_servers": {"a": {"command": "x", "args": ["//no comment", "/* nor here */"]}, "b": {"command": "y"}},
    }
    assert jsonc.loads("\ufeff{}") == jsonc.loads("") == jsonc.loads(" // nothing") == {}


@pytest.mark.parametrize(
    "text", ["{", '{"a": }', "{'a': 1}", '{"a": 1}}', '{"a": "x\ny"}', "/* {}", "/*/", "[" * 100_000, '{"a": 1,,}']
)
def test_what_is_no_json_is_refused(text: str) -> None:
    """Broken text raises ValueError, in reading and in changing."""
    with pytest.raises(ValueError, match=r"line 1|nested|line 2"):
        jsonc.loads(text)
    with pytest.raises(ValueError, match=r"."):
        jsonc.put(text, ["a"], 1)


def test_the_place_of_an_error_is_that_in_the_file() -> None:
    """Comments before it do not move it."""
    with pytest.raises(ValueError, match="line 3 column 6"):
        jsonc.loads('{ // one\n /* two */\n"a": nope}')


def test_an_entry_is_added_and_removed_and_nothing_else_changes() -> None:
    """Comments, order, trailing commas and indentation stay; removing what was added gives the file as it was."""
    added = jsonc.put(ZED, ["context_servers", "doorward"], {"command": "d", "args": []})
    lines = added.splitlines()
    assert [line for line in ZED.splitlines() if line not in lines] == ["    } // last"]
    assert (
        added.count('    }, // last\n    "doorward": {\n      "command": "d",\n      "args": []\n    }\n  },\n}\n') == 1
    )
    assert jsonc.remove(added, ["context_servers", "doorward"]).replace("}, // last", "} // last") == ZED
    assert jsonc.remove(ZED, ["context_servers", "c"]) == jsonc.remove(ZED, ["x", "y"]) == ZED


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", '{\n  "k": {\n    "n": 1\n  }\n}\n'),
        ("{}", '{\n  "k": {\n    "n": 1\n  }\n}'),
        ('{"a":1}', '{"a":1, "k": {"n": 1}}'),
        ('{\n\t"a": 1\n}\n', '{\n\t"a": 1,\n\t"k": {\n\t\t"n": 1\n\t}\n}\n'),
        ('{\r\n    "a": 1\r\n}', '{\r\n    "a": 1,\r\n    "k": {\r\n        "n": 1\r\n    }\r\n}'),
        ('{"k": {}}', '{"k": {\n  "n": 1\n}}'),
        ('{"k": {"n": 2}}', '{"k": {"n": 1}}'),
        ("\ufeff{}", '\ufeff{\n  "k": {\n    "n": 1\n  }\n}'),
    ],
)
def test_it_is_written_as_the_neighbours_are(before: str, after: str) -> None:
    """Indentation, line ends and a byte-order mark are the file's own."""
    assert jsonc.put(before, ["k", "n"], 1) == after


def test_what_is_no_object_is_not_overwritten() -> None:
    """A value where an object should be stops the change."""
    for text in ('{"k": [1]}', "[1]", '{"k": null}'):
        with pytest.raises(ValueError, match="object"):
            jsonc.put(text, ["k", "n"], 1)


def test_a_key_that_stands_there_twice() -> None:
    """The last one counts, as in JavaScript; removing removes both."""
    text = '{"k": 1, "k": 2}'
    assert jsonc.put(text, ["k"], 3) == '{"k": 1, "k": 3}'
    assert jsonc.loads(jsonc.remove(text, ["k"])) == {}


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(codec="utf-8"), max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(st.characters(codec="utf-8"), max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)
NOISE = st.sampled_from(["", " ", "\n", "\n\t", " // c, }\n", '/* " { */', " /**/ /*,*/ ", "//\n//]\n  "])


@st.composite
def documents(draw: st.DrawFn) -> tuple[str, Any]:
    """A JSONC text with comments anywhere, and its value."""

    def written(value: Any) -> str:
        if isinstance(value, (dict, list)):
            items = (
                [
                    f"{draw(NOISE)}{json.dumps(k)}{draw(NOISE)}:{draw(NOISE)}{written(v)}{draw(NOISE)}"
                    for k, v in value.items()
                ]
                if isinstance(value, dict)
                else [f"{draw(NOISE)}{written(v)}{draw(NOISE)}" for v in value]
            )
            comma = f",{draw(NOISE)}" if items and draw(st.booleans()) else ""
            opening, closing = "{}" if isinstance(value, dict) else "[]"
            return f"{opening}{draw(NOISE)}{','.join(items)}{comma}{closing}"
        return json.dumps(value, ensure_ascii=False)

    value = draw(st.dictionaries(st.sampled_from(["k", "l", "m", ""]), VALUES, max_size=3))
    return f"{draw(NOISE)}{written(value)}{draw(NOISE)}", value


@pytest.mark.slow
@settings(deadline=None)
@given(documents(), st.sampled_from(["k", "l", "n"]), st.sampled_from(["k", "x"]), VALUES)
def test_any_document_can_be_changed(document: tuple[str, Any], one: str, two: str, value: Any) -> None:
    """What was put is there, nothing else has changed, and no comment is lost; what is removed is gone."""
    text, data = document
    assert jsonc.loads(text) == data
    if not isinstance(data.get(one, {}), dict):
        with pytest.raises(ValueError, match="object"):
            jsonc.put(text, [one, two], value)
        return
    changed = jsonc.put(text, [one, two], value)
    assert jsonc.loads(changed) == {**data, one: {**data.get(one, {}), two: value}}
    removed = jsonc.remove(changed, [one, two])
    kept = {key: inner for key, inner in data.get(one, {}).items() if key != two}
    assert jsonc.loads(removed) == {**data, one: kept}
    if two not in data.get(one, {}):
        assert comments(removed) == comments(text)


def comments(text: str) -> list[str]:
    return [found for found in re.findall(r'"(?:\\.|[^"\\])*"|(//[^\n]*|/\*.*?\*/)', text, re.DOTALL) if found]


@pytest.mark.slow
def test_a_large_file_is_quick() -> None:
    """Thousands of projects of Claude Code's own file are no matter; nor is what is made to be slow."""
    text = json.dumps(
        {"projects": {f"/p/{n}": {"history": ["x" * 100] * 5} for n in range(3_000)}, "mcpServers": {}}, indent=2
    )
    began = time.process_time()
    assert jsonc.loads(jsonc.put(text, ["mcpServers", "doorward"], {}))["mcpServers"] == {"doorward": {}}
    for hostile in (
        "/*" * 200_000,
        "/* " * 200_000,
        "," * 200_000,
        ",/* " * 200_000,
        '"' * 200_001,
        '{"a":' * 50_000,
        "{" + ",/**/" * 100_000,
    ):
        with pytest.raises(ValueError, match=r"."):
            jsonc.loads(hostile)
    assert time.process_time() - began < 10
