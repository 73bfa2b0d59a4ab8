"""Functions in TypeScript, held against its compiler."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from doorward.model.functions import Function
from doorward_testing.any_schema import ANY, TEXT
from doorward_testing.hostile import HOSTILE
from doorward_testing.typescript import HAS_DENO, apart, faults
from doorward_text.cards import class_at, class_names, describe, describe_class
from doorward_text.signatures import parameter_lines, signature, stub
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

STRING = {"type": "string"}
needs_deno = pytest.mark.skipif(not HAS_DENO, reason="deno is absent: `pip install deno` brings the compiler")
"""The tests beside say what the texts are; these, that a compiler takes them."""


def record(*required: str, **fields: Any) -> dict[str, Any]:
    return {"type": "object", "properties": fields, "required": list(required)}


PET = {
    "Pet": record(
        "name",
        name=STRING | {"description": "Its name */ evil() /*"},
        kind={"enum": ["cat", "dog", None, 1, True]},
        tags={"type": "array", "items": {"anyOf": [STRING, {"type": "integer"}]}},
        notes={"type": "object", "additionalProperties": {"type": "number"}},
        **{"x-odd key": STRING, "id": {"type": "integer", "readOnly": True}, "new": {"type": ["string", "null"]}},
    )
}
ADD = Function(
    "pets", "add_pet", "addPet", "Add a pet", "More of it. */ evil() // @ts-nocheck",
    parameters=record("body", body={"$ref": "#/$defs/Pet"}, days=STRING | {"type": "integer", "default": 3}, photo=STRING | {"format": "binary"}),
    returns={"type": "array", "items": {"$ref": "#/$defs/Pet"}}, route="POST /pets",
)  # fmt: skip


def test_a_card() -> None:
    """Import, JSDoc, one object of arguments with optional ones, interfaces, unions, and a call that is awaited."""
    card = describe(ADD, PET.get, module="pets", language="typescript")
    for line in (
        'import * as pets from "pets";',
        " * More of it. *\\/ evil() // (at)ts-nocheck",
        " * POST /pets · addPet · writes",
        "declare function add_pet(args: {",
        "    body: Pet;",
        "    days?: number;  // = 3",
        "    photo?: Uint8Array | string | Record<string, any>;  // a file: bytes, text, handle, "
        '{"content", "name", "type"}',
        "}): Promise<PetReceived[]>;",
        "interface Pet {",
        "    name: string;  // Its name *\\/ evil() /*",
        '    kind?: "cat" | "dog" | 1 | true | null;',
        "    tags?: (string | number)[];",
        "    notes?: Record<string, number>;",
        '    "x-odd key"?: string;',
        "    new?: string | null;",
        "interface PetReceived {  // Pet as received",
        "    id: number;",
        'const result = await pets.add_pet({ body: { name: "name" } });',
    ):
        assert line in card.splitlines() or line in card, line


def test_signatures_for_errors() -> None:
    """What an error shows: the head, the line of a parameter, the class at a place."""
    assert signature(ADD, PET.get, language="typescript").splitlines()[:2] == [
        "declare function add_pet(args: {",
        "    body: Record<string, any>;  // keys of Pet: name, kind, tags, notes, x-odd key, new",
    ]
    assert parameter_lines(ADD, PET.get, ["days"], "typescript") == ["    days?: number;  // = 3"]
    told = class_at(ADD, PET.get, ["body", "tags", 0], "typescript")
    assert told.startswith("body is of the type Pet:\ninterface Pet {")
    none = Function("a", "now", parameters={"type": "object", "properties": {}})
    assert signature(none, {}.get, language="typescript") == "declare function now(): Promise<any>;"


def test_a_class_of_a_card_can_be_asked_for() -> None:
    """By the name that the card gives it."""
    assert class_names(ADD, PET.get) == ["Pet"]
    for name in ("Pet", "PetReceived"):
        assert f"interface {name} {{" in (describe_class(ADD, PET.get, name, "typescript") or "")
    whole = describe_class(ADD, PET.get, "parameters", "typescript") or ""
    assert "declare function add_pet(args: {" in whole


@needs_deno
@pytest.mark.slow
def test_reserved_names_are_written_otherwise(tmp_path: Path) -> None:
    """A function or a server may be called as a program cannot name anything: it is exported under its name, so that
    `module.delete(…)` works."""
    texts = {}
    for name in ("delete", "new", "default", "enum", "arguments", "public", "let"):
        function = Function("function", name, parameters=record("in", **{"in": STRING, "class": STRING}))
        card = describe(function, {}.get, module="function", language="typescript")
        assert card.startswith('import * as function_ from "function";')
        assert f"await function_.{name}({{ in:" in card
        declared, program = apart(card)
        texts |= {f"{name}.d.ts": declared, f"{name}.ts": program.replace('"function"', f'"./{name}.d.ts"')}
        texts[f"{name}_stub.d.ts"] = stub([function], {}.get, language="typescript")
    assert faults(texts, tmp_path) == ""


NAMES = st.one_of(
    st.sampled_from(["a", "body", "delete", "Record", "Promise", "x-y", "__proto__", "constructor"]), TEXT
)
PROSE = st.one_of(
    st.sampled_from(["*/ evil(); /*", "/** @ts-ignore */", "// @deno-types='x'", "`${x}`", *HOSTILE]), TEXT
)
SCHEMA = st.recursive(
    st.one_of(
        ANY,
        st.fixed_dictionaries({"type": st.sampled_from(["string", "integer", "boolean", "null", "array", "object"])}, optional={"description": PROSE, "default": ANY, "enum": st.lists(TEXT | st.integers() | st.floats() | st.booleans() | st.none(), max_size=4), "format": TEXT}),
        st.builds(lambda name: {"$ref": f"#/$defs/{name}"}, st.sampled_from(["Pet", "Record", "a-b"])),
    ),
    lambda inner: st.one_of(
        st.fixed_dictionaries({"type": st.just("object"), "properties": st.dictionaries(NAMES, inner, max_size=4)}, optional={"required": st.lists(NAMES, max_size=2), "additionalProperties": inner, "description": PROSE}),
        st.fixed_dictionaries({"type": st.just("array"), "items": inner}),
        st.fixed_dictionaries({"anyOf": st.lists(inner, max_size=3)}),
    ),
    max_leaves=8,
)  # fmt: skip


@needs_deno
@pytest.mark.slow
def test_whatever_a_document_says_is_valid_typescript(tmp_path: Path) -> None:
    """CONTRACT: EXE-02 Hostile names, texts, defaults and schemas stay words of comments, strings and types: the
    compiler takes all cards, signatures and stubs."""
    texts: dict[str, str] = {}

    @settings(deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(SCHEMA, SCHEMA, st.dictionaries(st.sampled_from(["Pet", "Record", "a-b"]), SCHEMA, max_size=3), PROSE, PROSE)
    def collect(parameters: Any, returns: Any, definitions: dict[str, Any], summary: str, description: str) -> None:
        number = len(texts)
        shape = record("x", x=parameters, y=returns) if number % 3 else parameters
        function = Function("s", "f", summary[:20], summary, description, parameters=shape if isinstance(shape, dict) else {}, returns=returns)  # fmt: skip
        card = describe(function, definitions.get, module="s", language="typescript")
        card.encode()
        texts[f"card{number}.d.ts"] = apart(card)[0]
        texts[f"stub{number}.d.ts"] = stub([function], definitions.get, language="typescript")
        head = signature(function, definitions.get, language="typescript")
        texts[f"head{number}.ts"] = (
            head + "\ninterface FResponse {}\nexport {};\n" if "Promise<any>" in head else "export {};"
        )
        for name in class_names(function, definitions.get)[:2]:
            text = describe_class(function, definitions.get, name, "typescript") or ""
            texts[f"class{number}{len(texts)}.d.ts"] = f"{text}\nexport {{}};\n"

    collect()
    assert faults(texts, tmp_path) == ""
