"""What programs can do and are told: values, errors, imports, what is printed, sessions."""

from __future__ import annotations

import time
from typing import Any

import pytest
from doorward import LimitExceeded, Limits, Program
from doorward_sandbox_deno import DenoExecutor
from doorward_testing import Door
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from .conftest import Run

pytestmark = [pytest.mark.slow, pytest.mark.anyio]

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.integers(2**53, 10**40) | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda parts: st.lists(parts, max_size=4) | st.dictionaries(st.text().filter(lambda key: key != "\0bytes"), parts, max_size=4),
    max_leaves=20,
)  # fmt: skip


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=5)
@given(st.lists(JSON, min_size=20, max_size=40))
async def test_values_round_trip(run: Run, values: list[Any]) -> None:
    """Any JSON value passes parameters, calls, answers and results unchanged."""
    code = 'import { echo } from "calc";\nconst values = [];\nawait Promise.all(values.map((one) => echo(one)))'
    ended = await run(code, params={"values": values})
    assert (ended.error, ended.value) == (None, values)


@pytest.mark.parametrize(
    ("code", "value"),
    [
        ("9007199254740991", 2**53 - 1),
        ("await echo(9007199254740993n)", 2**53 + 1),
        ("typeof await echo(9007199254740993n)", "bigint"),
        ("typeof await echo(9007199254740991)", "number"),
        ("[NaN, -Infinity, -0]", [None, None, 0]),
        ("({ a: undefined, b: [undefined] })", {"b": [None]}),
        ("new Map([[1, { a: new Date(0) }]])", {"1": {"a": "1970-01-01T00:00:00.000Z"}}),
        ("[new Float32Array([0.5]), new Uint8Array([1]), new ArrayBuffer(1)]", [[0.5], b"\x01", b"\0"]),
        ("[echo, (x) => x, Symbol('a'), /a/g]", ["calc.echo", "[Function (anonymous)]", "Symbol(a)", "/a/g"]),
        ("new Error('no')", {"name": "Error", "message": "no"}),
        ("class A { x = 1; #y = 2; get z() { return 3 } }\nnew A()", {"x": 1}),
        ("await echo({ __proto__: null, ['__proto__']: 1 })", {"__proto__": 1}),
    ],
)
async def test_values_that_json_does_not_know(run: Run, code: str, value: Any) -> None:
    """As much of a value as can be said is said; whole numbers are exact whatever their size."""
    ended = await run(f'import {{ echo }} from "calc";\n{code}')
    assert (ended.error, ended.value) == (None, value)


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("await echo(NaN)", "NaN cannot be sent"),
        ("await echo([() => 1])", "a function cannot be sent"),
        ("await echo(Symbol('a'))", "a symbol cannot be sent"),
        ("await echo(new Date(NaN))", "an invalid date cannot be sent"),
        ("await echo([echo(1)])", "a promise cannot be sent: await it"),
        ("const a = {};\na.a = a;\nawait echo(a)", "circular structure"),
        ("const a = {};\na.a = a;\na", "circular structure"),
        ("[echo(1)]", "a promise cannot be sent: await it"),
        ("let a = [];\nfor (let n = 0; n < 1e5; n++) a = [a];\na", "call stack"),
    ],
)
async def test_values_that_cannot_be_sent(run: Run, code: str, message: str) -> None:
    """The error says what, and is one of the program's own."""
    ended = await run(f'import {{ echo }} from "calc";\n{code}', language="javascript")
    assert ended.error is not None
    assert ended.error.type in ("TypeError", "RangeError")
    assert message in ended.error.message


@pytest.mark.parametrize(
    ("code", "type", "line", "message"),
    [
        ("\nthrow new RangeError('far')", "RangeError", 2, "far"),
        ("class Mine extends Error {}\nthrow new Mine('own')", "Mine", 2, "own"),
        ("\n\nthrow 'text'", "Error", None, "text"),
        ("\nthrow { a: 1 }", "Error", None, "{ a: 1 }"),
        ("\nnull.x", "TypeError", 2, "Cannot read properties of null (reading 'x')"),
        ("\nJSON.parse('{')", "SyntaxError", 2, "Expected property name"),
        ("\nPromise.reject(new Error('nobody awaits'));\n5", "Error", 2, "nobody awaits"),
        ("setTimeout(() => {\n  throw new Error('late');\n});\nawait new Promise((d) => setTimeout(d, 50))", "Error", 2, "late"),
        ("\nimport { nope } from 'calc'", "SyntaxError", 2, "'calc' does not provide an export named 'nope'"),
        ("\nimport x from 'nowhere'", "ModuleNotFoundError", 2, "Cannot find module 'nowhere'"),
        ("\nawait import('npm:lodash')", "ModuleNotFoundError", 2, "Cannot find module 'npm:lodash'"),
        ("import 'https://example.com/x.ts'", "ModuleNotFoundError", 1, "Cannot find module"),
        ("import 'node:fs'", "ModuleNotFoundError", 1, "Cannot find module 'node:fs'"),
        ("\nimport * as calc from 'calc';\nawait calc.nope()", "DoorwardError", 3, "there is no function 'calc.nope'"),
        ("\nDeno.readTextFileSync('/etc/passwd')", "NotCapable", 2, "Requires read access"),
        ("\nDeno.exit(3)", "Exit", 2, "the program ended itself with code 3"),
        ("const a = 1\n\nlet b = [1, 2", "SyntaxError", 3, ""),
        ("enum E { A }\n\nconst f = () => { throw new Error(`${E.A}`) }\nf()", "Error", 3, "0"),
        ("const x: number = 1;\nx();", "TypeError", 2, "x is not a function"),
    ],
)  # fmt: skip
async def test_errors(run: Run, code: str, type: str, line: int | None, message: str) -> None:
    """An error has its own type, message and line of the program, also where types were taken out of it. What is no
    error has no line."""
    ended = await run(code)
    assert ended.error is not None
    assert (ended.error.type, ended.error.line) == (type, line)
    assert message in ended.error.message


async def test_frames(run: Run) -> None:
    """The frames of an error are those of the program, the innermost last; a call has the place where it was made."""
    code = 'import { fail } from "calc";\nconst inner = async () => {\n  await fail();\n};\nasync function outer() {\n  await inner();\n}\nawait outer();'
    ended = await run(code)
    assert ended.error is not None
    assert [(frame.line, frame.function) for frame in ended.error.frames] == [
        (8, "<program>"),
        (6, "outer"),
        (3, "inner"),
    ]


async def test_an_ended_program(run: Run) -> None:
    """`Deno.exit()` ends a program as its end does."""
    ended = await run("const result = 5;\nDeno.exit();\nthrow new Error('not reached')")
    assert (ended.error, ended.value) == (None, 5)


async def test_calls_that_nobody_awaits_are_made(run: Run) -> None:
    """The program is over when they are answered."""
    door = Door()
    ended = await run('import { wait } from "calc";\nfor (const ms of [1, 20]) wait({ ms });\n"done"', door=door)
    assert (ended.value, door.made) == ("done", 2)


async def test_what_is_printed(run: Run) -> None:
    """`console`, and the streams of Deno and Node, print; nothing of that gets into the channel."""
    door = Door()
    code = (
        'console.log("%s is %d", "a", 1, { b: [1] });\nconsole.error("error");\nconsole.table([{ a: 1 }]);\n'
        'process.stdout.write("node\\n");\nDeno.stdout.writeSync(new TextEncoder().encode("deno\\n"));\n'
        'await Deno.stderr.write(new TextEncoder().encode("both\\n"));\nconsole.group("g");\nconsole.warn("in");'
    )
    ended = await run(code, door=door)
    assert ended.error is None
    assert door.printed.startswith("a is 1 { b: [ 1 ] }\nerror\n┌")
    assert door.printed.endswith("node\ndeno\nboth\ng\n  in\n")


async def test_modules_of_node_that_only_compute(run: Run) -> None:
    """They can be imported; those that reach for the machine cannot."""
    code = (
        'import { createHash } from "node:crypto";\nimport { format } from "node:util";\n'
        'const { join } = await import("node:path");\n'
        '[createHash("sha256").update("a").digest("hex").slice(0, 6), format("%i", 1.5), join("a", "../b")]'
    )
    assert (await run(code)).value == ["ca9781", "1", "b"]


async def test_parameters(run: Run) -> None:
    """Values take the place of literals; others are variables of their own. They are data, whatever they hold."""
    code = "const days: number = 30;\nlet city = 'x';\n[days, city, more.a]"
    given_ = {"days": 7, "city": "`${'\\'", "more": {"a": "\n//"}}
    assert (await run(code, params=given_)).value == [7, "`${'\\'", "\n//"]
    assert (await run(code, params={"more": {"a": 10**20}})).value == [30, "x", 10**20]


async def test_a_session_keeps_what_it_declares(executor: DenoExecutor) -> None:
    """Constants, classes, imports and state, of TypeScript and across errors; a name can be declared anew."""
    program = Program("1", deadline=time.monotonic() + 30, language="typescript")
    sandbox, door = await executor.open(program, session=True), Door()
    door.language = "typescript"
    texts: dict[str, Any] = {
        'import { add } from "calc";\nconst n: number = 1;\nclass A { x = n }': None,
        "throw new Error('x')": None,
        "const a = new A();\nawait add(a.x, n)": 2,
        "const n: string = 'again';\n[n, a.x]": ["again", 1],
        "const result = 3": 3,
        "n": "again",
        "await add(2, 2)": 4,
    }
    for code, value in texts.items():
        ended = await sandbox.run(
            Program(code, limits=Limits(), deadline=time.monotonic() + 30, language="typescript"), door
        )
        assert ended.value == value, code
    await sandbox.close()


async def test_a_large_catalog(run: Run) -> None:
    """A program that takes one function of a server is not told of all its functions; one that takes all can list
    them."""

    class Many(Door):
        def members(self, server: str) -> Any:
            return [f"f{n}" for n in range(5000)] if server == "calc" else super().members(server)

    assert (await run('import * as calc from "calc";\nObject.keys(calc).length', door=Many())).value == 5000
    assert (await run('import { f1 } from "calc";\ntypeof f1', door=Many())).value == "function"
    assert (await run('"f4999" in await import("calc")', door=Many())).value is True


async def test_what_has_too_many_parts(run: Run) -> None:
    """The arguments of a call are an error of the program, and a value is one of the run: neither is ever read."""
    code = 'import { echo } from "calc";\nDate.now();\nlet said;\ntry { await echo(new Array(200_000).fill(0)) } catch (error) { said = error.message }\nsaid'
    ended = await run(code)
    assert (ended.error, ended.value) == (None, "the arguments of a call have more than 100,000 parts")
    with pytest.raises(LimitExceeded, match="the value has more than 100,000 parts"):
        await run("Date.now();\nnew Array(300_000).fill(0)")
    assert (await run("'a,b'.repeat(300_000)")).value == "a,b" * 300_000
