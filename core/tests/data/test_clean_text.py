"""Texts of strangers: what cannot be seen, and what turns others around, is in none of them."""

from __future__ import annotations

import json
import sys
import unicodedata
from typing import Any

import jsonschema_rs
import pytest
from doorward import Compiled, Function, Skipped
from doorward.data.clean_text import clean_compile, clean_schema, shown_schema
from doorward.values import clean_text
from hypothesis import given
from hypothesis import strategies as st

from ..conftest import Weather

UNSEEN = "\u202e\u200b\U000e0041\U000e0100\ufe0f\u3164\x1b[31m\x07\x00\u2066\ufeff\xad\ue000"
VISIBLE_FORMAT = {0x600, 0x601, 0x602, 0x603, 0x604, 0x605, 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD}
"""Signs of Arabic, Syriac and Kaithi that stand below others, and are seen."""


@pytest.mark.slow
def test_no_hidden_character_is_left() -> None:
    """No control character but the line break, no format character without a shape, no private one, no half of a
    pair."""
    for code in range(sys.maxunicode + 1):
        if unicodedata.category(chr(code)) in ("Cc", "Cf", "Cs", "Co") and code not in VISIBLE_FORMAT:
            assert clean_text(f"a{chr(code)}b") in ("ab", "a b", "a\nb"), hex(code)


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        (f"a{UNSEEN}b", "ab"),
        ("a\tb\r\nc\u2028d", "a b\nc\nd"),
        ("\x1b]8;;http://evil\x07link\x1b]8;;\x07", "link"),
        ("Größe 大きさ مثال 😀 é", "Größe 大きさ مثال 😀 é"),
        ("", ""),
    ],
)
def test_what_is_seen_stays(text: str, clean: str) -> None:
    assert clean_text(text) == clean


@pytest.mark.slow
@given(st.text())
def test_clean_is_clean(text: str) -> None:
    """Property: cleaning a second time changes nothing."""
    assert clean_text(clean_text(text)) == clean_text(text)


ODD: dict[str, Any] = {
    "type": "object",
    "description": f"x{UNSEEN}",
    "properties": {
        "description": {"type": "string", "title": f"x{UNSEEN}", "enum": ["a", f"b{UNSEEN}"]},
        "enum": {"type": "string", "description": f"x{UNSEEN}", "default": f"c{UNSEEN}"},
        "list": {"type": "array", "items": {"anyOf": [{"const": f"d{UNSEEN}", "description": f"x{UNSEEN}"}]}},
    },
}


def test_values_of_schemas_stay() -> None:
    """Texts of a schema are clean, wherever they stand; what is sent stays as it is."""
    clean = clean_schema(ODD)
    text = json.dumps(clean, ensure_ascii=False)
    assert text.count(json.dumps(UNSEEN, ensure_ascii=False)[1:-1]) == 3
    assert (
        clean["description"]
        == clean["properties"]["description"]["title"]
        == clean["properties"]["enum"]["description"]
        == "x"
    )
    assert clean["properties"]["description"]["enum"] == ["a", f"b{UNSEEN}"]


def test_a_schema_that_is_shown_hides_nothing() -> None:
    """A client gets values that cannot be seen by their escapes, in the description; a call may still send them."""
    named = {
        **ODD,
        "properties": {**ODD["properties"], f"k{UNSEEN}": {}},
        "required": [f"k{UNSEEN}"],
        "additionalProperties": False,
    }
    shown = shown_schema(clean_schema(named))
    text = json.dumps(shown, ensure_ascii=False)
    assert clean_text(text) == text
    assert not any(escape in text for escape in ("\\u001b", "\\u0007", "\\u0000")) or "\\\\u001b" in text
    assert r"b\u202e" in shown["properties"]["description"]["description"]
    jsonschema_rs.Draft202012Validator(shown).validate({"description": f"b{UNSEEN}", f"k{UNSEEN}": 1})
    assert shown_schema(ODD["properties"]["list"]["items"])["anyOf"][0]["description"].startswith("x")


def test_a_plain_compile_is_left_as_it_is() -> None:
    """What has nothing to clean, nearly everything, is not copied."""
    function = Function(
        server="w", name="a", id="a", parameters={"type": "object", "properties": {"x": {"description": "ü"}}}
    )
    assert clean_compile(Compiled([function])).functions[0] is function


def test_a_schema_that_is_nested_too_deeply_hides_no_others() -> None:
    """It becomes one that takes anything; its function and the others stay."""
    deep: Any = {"description": UNSEEN}
    for _ in range(5000):
        deep = {"items": deep}
    functions = [
        Function(server="w", name=name, id=name, parameters=shape) for name, shape in (("a", deep), ("b", ODD))
    ]
    assert [f.parameters == {} for f in clean_compile(Compiled(functions, {"D": deep})).functions] == [True, False]


@pytest.mark.anyio
async def test_no_source_can_forget_it(doorward_host: Any) -> None:
    """Whatever a source compiles, the catalog holds clean texts: in what is listed, searched, described and skipped."""

    class Odd(Weather):
        async def compile(self) -> Compiled:
            function = Function(
                server="w", name="odd", id=f"odd{UNSEEN}", summary=f"sum{UNSEEN}med", description=f"said{UNSEEN}", route=f"GET /{UNSEEN}x",
                parameters=ODD, returns={"description": f"x{UNSEEN}"}, tags=(f"tag{UNSEEN}",),
            )  # fmt: skip
            definitions = {"D": {"description": f"x{UNSEEN}"}}
            return Compiled(
                [function], definitions, [Skipped(f"a{UNSEEN}", f"b{UNSEEN}")], [f"c{UNSEEN}"], f"d{UNSEEN}"
            )

    doorward_host.install("source", "odd", Odd)
    async with doorward_host.gateway('[servers.w]\nsource = "odd"\n') as gate:
        report = (await gate.compiler.compile())["w"]
        assert (report.warnings, report.skipped, report.description) == (["c"], [{"where": "a", "why": "b"}], "d")
        found = (await gate.discovery.find(["summed"], "local")).hits[0].function
        assert (found.id, found.summary, found.description, found.route, found.tags) == (
            "odd",
            "summed",
            "said",
            "GET /x",
            ("tag",),
        )
        assert found.returns == gate.catalog.definition("w", "D") == {"description": "x"}
