"""Programs are read before they run: what they import and export is taken out of their text."""

from __future__ import annotations

import time

import pytest
from doorward_sandbox_deno.program_text import Import, read
from hypothesis import given
from hypothesis import strategies as st

IMPORTS = {
    'import * as github from "github"': Import("github", 1, ((None, "github"),)),
    "import { issues_create } from 'github';": Import("github", 1, (("issues_create", "issues_create"),)),
    'import {\n  a as b, // the first\n  "b c" as d,\n} from "x"': Import("x", 1, (("a", "b"), ("b c", "d"))),
    'import github, { a } from "github"': Import("github", 1, (("default", "github"), ("a", "a"))),
    'import "github"': Import("github", 1),
    'import type { Issue } from "github"': Import("github", 1),
    'import { type Issue, a } from "github"': Import("github", 1, (("a", "a"),)),
    'import x from "x" with { type: "json" }': Import("x", 1, (("default", "x"),)),
    '1\n/* import a from "b" */ import /* c */ $a from "my-server"': Import("my-server", 2, (("default", "$a"),)),
}


@pytest.mark.parametrize("code", IMPORTS)
def test_imports(code: str) -> None:
    """An import is read, and only lines are left of it."""
    found = read(code)
    assert found.imports == (IMPORTS[code],)
    assert "import" not in found.code.replace('/* import a from "b" */', "")
    assert found.code.count("\n") == code.count("\n")


@pytest.mark.parametrize(
    "code",
    [
        "`import a from 'b'`",
        "// import a from 'b'",
        "const x = { import: 1 }; x.import",
        "'import'",
        "/import a from 'b'/.test('')",
        "import a from 'b\\u0063'",
        "import fs = require('fs')",
        "import { a",
    ],
)
def test_what_is_no_import(code: str) -> None:
    """Texts and comments that look like one, other systems' modules and what does not parse stay as they are."""
    assert (read(code).imports, read(code).code) == ((), code)


def test_imports_at_run_time() -> None:
    """`import(…)` goes to the runner, wherever it stands."""
    code = 'const f = async (x) => (await import("github")).a + `${await import(x)}`; import.meta; f("import(1)")'
    expected = code.replace('import("', '__doorward__.import("', 1).replace("import(x)", "__doorward__.import(x)")
    assert read(code).code == expected


@pytest.mark.parametrize(
    ("code", "left"),
    [
        ("export const result: number = 1", " const result: number = 1"),
        ("export default f(1)", " result = f(1)"),
        ("export default function f() {}\nf", "  function f() {}\nf"),
        ("export { a,\n b as c }", "\n"),
        ("export type A = string", " type A = string"),
    ],
)
def test_exports(code: str, left: str) -> None:
    """What is exported is declared; the default export is the result."""
    assert read(code).code == left


@pytest.mark.parametrize(
    ("code", "sets"),
    [
        ("result = 1", True),
        ("globalThis.result = 1", True),
        ("export const result = 1", True),
        ("const { result } = f()", True),
        ("let a, result = 1", True),
        ("if (a) { result = 1 }", True),
        ("result ??= 1", True),
        ("export default 1", True),
        ("function f() { const result = 1; return result }", False),
        ("const results = 1; a.result = 2; ({ result: 3 })", False),
        ("'result = 1' // result = 1", False),
        ("result == 1", False),
    ],
)
def test_whether_it_sets_a_result(code: str, sets: bool) -> None:
    """Assignments to `result` count, and what the top level declares; words that only look so do not."""
    assert read(code).sets_result is sets


@pytest.mark.slow
@given(st.text(alphabet=st.sampled_from("import export default from {}()[]'\"`$\\/*\n ;=<>:?a1é😀\ud800"), max_size=60))
def test_any_text_keeps_its_lines(code: str) -> None:
    """Whatever a program is, reading it neither fails nor moves a line."""
    assert read(code).code.count("\n") == code.count("\n")


@pytest.mark.slow
@pytest.mark.parametrize("piece", ["(", "`${", "a<", "{", "/*", "if(a)", "[a,(b<c,", "'", "async (a=>", "import{"])
def test_hostile_texts_take_little_time(piece: str) -> None:
    """A text that is hard to parse is left to the engine, after half a second at most."""
    began = time.process_time()
    read(piece * (64_000 // len(piece)))
    assert time.process_time() - began < 5
