"""The parameters of programs in TypeScript and JavaScript."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from doorward_sandbox_deno.reading import ReadsScripts
from doorward_sandbox_deno.script_parameters import PARAMETER_PREFIX, bound
from doorward_sandbox_deno.script_tokens import has_value, tokens
from doorward_testing.any_schema import TEXT
from hypothesis import given, settings
from hypothesis import strategies as st

parameters = ReadsScripts().parameters_of


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("const days: number = 30;", {"days": 30}),
        ("let city = 'O\\u0073lo'\nvar open = true", {"city": "Oslo", "open": True}),
        ("export const ids: Array<number> = [1, 2, 3,] as const", {"ids": [1, 2, 3]}),
        ("const a: { b: number; c?: string } = { b: -1, 'c-d': null, e: [{}], }", {"a": {"b": -1, "c-d": None, "e": [{}]}}),
        ("const kind:\n  | 'a'\n  | 'b' = 'a'\nfind()", {"kind": "a"}),
        ("const share = 1.5e1, other = 2", {}),
        ("const x = 5\n  .toFixed(2)\nconst y = 1 +\n 2\nconst z = [1]\n[0]", {}),
        ("const f: (x: number) => void = (x) => { const inner = 5 }", {}),
        ("function f() { const inner = 1 }\n{ let block = 1 }\nfor (const i = 1; ;) {}", {}),
        ("// const no = 1\n/* const no = 2\n*/ const yes = 3", {"yes": 3}),
        ("const t = `const no = 1\n${(() => { const no = 2; return `}`; })()} const no = 3`; const yes = 4", {"yes": 4}),
        ("const re = /[/\"']const no = 1/g; const yes = 2 / 1 / 1\nconst also = 3", {"also": 3}),
        ("const big = 9007199254740993, \nlet old = 017\nconst n = 10n\nconst t = `x`\nconst o = {...p}\nconst u = undefined", {}),
        ("let d: number\nd = 5\nlet e: string = 'x'", {"e": "x"}),
        ("const result = 1\nconst ours = 1\nvar ours = 2", {}),
        ("const out = []\nout.push(1)\nlet n = 0\nn += 1\nconst seen = {}\nseen['a'] = 1\nlet i = 0; i++", {}),
        ("const none = []\nconst text = ''\nlet zero = 0\ncall(none, text, zero == 0, other.zero = 1)", {"none": [], "text": "", "zero": 0}),
        ("const o = { __proto__: 1 }\nconst half = '\\ud800'\nconst ok = '\\u{1F600}\\x41\\n'", {"ok": "😀A\n"}),
        ("", {}),
    ],
)  # fmt: skip
def test_which_literals_are_parameters(code: str, found: dict[str, Any]) -> None:
    """Top-level declarations of one name and a literal of JSON, typed or not; what is not certainly one, is none."""
    assert parameters(code) == found


def test_values_are_bound_and_lines_stay() -> None:
    """A new value never becomes text of the program, and the lines of errors are those of the author."""
    code = "const ids: number[] = [\n  1,\n];\nconst city = 'Oslo'; const late = 1\nthrow new Error()"
    text, values = bound(code, {"ids": ["'); evil('"], "city": "x", "more": 1})
    assert (
        text
        == f"const ids: number[] = ({PARAMETER_PREFIX}ids\n\n);\nconst city = ({PARAMETER_PREFIX}city); const late = 1\nthrow new Error()"
    )
    assert values == {f"{PARAMETER_PREFIX}ids": ["'); evil('"], f"{PARAMETER_PREFIX}city": "x", "more": 1}
    assert bound(code, {}) == (code, {})


PIECES = ["const ", "a", "b", ": ", "=", "[", "]", "{", "}", "(", ")", ",", ";", "\n", "'", '"', "`", "${", "/", "\\", "*", "1", "-"]  # fmt: skip


@pytest.mark.slow
@settings(deadline=None)
@given(st.one_of(TEXT, st.lists(st.sampled_from(PIECES), max_size=40).map("".join)))
def test_any_text_is_read(code: str) -> None:
    """However wrong it is: its tokens are parts of it in their order, and its parameters are JSON."""
    at = 0
    for token in tokens(code):
        assert token.start >= at
        assert code[token.start : token.end] == token.text
        at = token.end
    json.dumps(parameters(code))


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece", ['"\\"', "/*", "/", "`${", "=/[", "'", "const a = [", "[", "}", "\\", "const a=1;", "const a:", "const a: x "]
)  # fmt: skip
def test_hostile_text_is_read_soon(piece: str) -> None:
    """16 KiB of a text that is wrong everywhere take no time that grows with its square (four seconds)."""
    started = time.process_time()
    parameters(piece * (2**14 // len(piece)))
    assert time.process_time() - started < 2


@pytest.mark.parametrize(
    ("code", "has"),
    [
        ("const x = 1", False),
        ("let a = [\n  1,\n];", False),
        ("for (const x of [1]) {\n  f(x)\n}", False),
        ("if (a) { f() } else { g() }", False),
        ("f();\nfunction f() { return 1 }", False),
        ("const x = 1\nx", True),
        ("const x = 1; await f(x)", True),
        ("const result = 1", True),
        ("export default 1", True),
        ("const x =\n  f()", True),  # not certain
        ("({ a: 1 })", True),
        ("[1]", True),
        ("", False),
    ],
)
def test_scripts_that_have_no_value(code: str, has: bool) -> None:
    """Only where that is certain."""
    assert has_value(code) is has
