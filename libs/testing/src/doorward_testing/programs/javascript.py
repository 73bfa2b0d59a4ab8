"""The programs of `ExecutorConformance` in JavaScript: modules with `await` at the top, whose calls take one object of
named arguments, or positional ones, and return promises."""

from __future__ import annotations

from doorward_testing.programs.suite import Suite

_CATCHING_API_ERRORS = [
    """
import * as calc from "calc";
import * as doorward from "doorward";
let result;
try {
    await calc.fail({ status: 429 });
} catch (error) {
    if (error instanceof doorward.ApiError) result = [error.status, error.retry_after];
}
""",
    """
import { fail } from "calc";
import { ApiError as Failed, DoorwardError } from "doorward";
const ask = async () => {
    try {
        return await fail({ status: 429 });
    } catch (error) {
        const isRight = error instanceof Failed && error instanceof DoorwardError && error instanceof Error;
        return isRight && error.body.why[0] === "gone" && [error.status, error.retry_after];
    }
};
await ask()
""",
    """
import { fail } from "calc"
const error = await fail({ status: 429 }).catch((error) => error)
const said = "calc.fail answered 429"
const right = error.name === "ApiError" && error.message === said && String(error) === `ApiError: ${said}`
export const result = [right ? 429 : String(error), error.retry_after]
""",
    """
import * as calc from "calc";
const ask = (status) => calc.fail({ status }).catch((error) => error.status);
const found = await Promise.all([ask(400), ask(29)]);
export default [found[0] + found[1], 1.5];
""",
    """
import * as calc from "calc";
const settled = await Promise.allSettled([calc.fail({ status: 429 }), calc.add(1)]);
[settled[0].reason.status, settled[0].reason.retry_after]
""",
    """
import * as calc from "calc";
import { ApiError } from "doorward";
const errors = [];
for (const word of ["a", "b", "a"]) await calc.fail(word, { status: 429 }).catch((error) => errors.push(error));
const same = JSON.stringify(errors.map((error) => error.body.args)) === '[["a"],["b"],["a"]]';
same ? [errors[0].status, errors[1].retry_after] : errors
""",
    """
import { refuse } from "calc";
import { ApiError, DoorwardError } from "doorward";
try {
    await refuse();
} catch (error) {
    globalThis.result = error instanceof DoorwardError && !(error instanceof ApiError) ? [429, 1.5] : "no";
}
""",
    """
import { refuse } from "calc";
import { ApiError, InvalidArguments } from "doorward";
let result = "nothing was thrown";
try {
    await refuse({ no: "argument" });
} catch (error) {
    result = error instanceof InvalidArguments && !(error instanceof ApiError) ? [429, 1.5] : "no";
}
""",
    """
import { ApiError } from "doorward";
let result;
try {
    try {
        undefined.x;
    } catch (error) {
        if (error instanceof ApiError) result = "a TypeError is none";
        else throw error;
    }
} catch (error) {
    result = error instanceof TypeError && [429, 1.5];
}
""",
]

_RAISING_API_ERRORS = [
    """
import * as calc from "calc";
import { ApiError } from "doorward";
try {
    await calc.fail();
} catch (error) {
    if (error instanceof ApiError && error.status === 404) throw error;
}
""",
    """
import { fail } from "calc";
async function f() {
    await fail();
}

try {
    await f();
} catch (error) {
    throw error;
}
""",
    """
import * as calc from "calc";
if (true) {
    await calc.fail();
}
""",
    """
import * as calc from "calc";
for (let n = 0; n < 3; n++) {
    calc.fail(); // nobody awaits it
}
5
""",
    """
import * as calc from "calc";
await Promise.all([calc.add(1),
    calc.fail(), calc.add(2)]);
""",
]

_CATCHING_TOOL_ERRORS = [
    """
import * as calc from "calc";
import * as doorward from "doorward";
let result;
try {
    await calc.complain();
} catch (error) {
    if (error instanceof doorward.ToolError && !(error instanceof doorward.ApiError)) result = error.message;
}
""",
    """
import * as calc from "calc";
await calc.complain().catch((error) => error.name === "ToolError" && error.message)
""",
    """
import * as calc from "calc";
import { ApiError, ToolError } from "doorward";
const errors = await Promise.all([calc.fail().catch((e) => e), calc.refuse().catch((e) => e)]);
errors[0] instanceof ApiError && !errors.some((error) => error instanceof ToolError) ? "the tool says no" : "no"
""",
]

_RAISING_TOOL_ERRORS = [
    'import * as calc from "calc";\n\nawait calc.complain();\n',
    'import { complain } from "calc";\ntry {\n    await complain();\n} catch (error) {\n    throw error;\n}\n',
]

JAVASCRIPT = Suite(
    values={
        "1 + 1": 2,
        "let result = [1];\n2": [1],
        "export const result = { a: [1, 2] };\n2": {"a": [1, 2]},
        "result = 'x'": "x",
        "globalThis.result = 1;\n2": 1,
        "export default 1 + 2": 3,
        "const x = 1;": None,
        "if (true) { 5 } else { 6 }": 5,
        "({ a: [1, 2] })['a'][1] // the last": 2,
        "[1, 2, 3]\n    .map((n) => n * 2)\n": [2, 4, 6],
        "await Promise.resolve(7)": 7,
        "Promise.resolve(8)": 8,
        "const text = `${1 +\n1}\nresult = 3`;\ntext.length": 12,
        "/* result = 3 */ 'result = 4'": "result = 4",
        "undefined": None,
        "[new Date(0), new Map([['a', new Set([1])]]), undefined, () => 1 === 1 && 2][1]": {"a": [1]},
        "new Date(0)": "1970-01-01T00:00:00.000Z",
        "10n ** 30n": 10**30,
        "new Uint8Array([0, 255])": b"\0\xff",
    },
    calls=[
        'import * as calc from "calc";\nawait calc.add({ a: 1, b: 2 })',
        "import { add } from 'calc'\nawait add(1, 2)",
        'import { add as plus } from "calc";\nplus(1, { b: 2 })',
        'import calc from "calc";\nresult = await calc.add(1, 2)',
        'import calc, { add } from "calc";\n(await Promise.all([calc.add(1), add({ a: 2 })])).reduce((a, b) => a + b)',
        'const { add } = await import("calc");\nawait add(1, 2)',
        'const name = "calc";\nconst calc = await import(name);\nawait calc["add"](1, 2)',
        'import * as doorward from "doorward";\nawait (await doorward.server("calc-1")).add(1, 2)',
        'import "calc";\nimport {\n    // the sum\n    add,\n} from "calc";\n'
        "let sum = 0;\nfor (const n of [1, 2]) sum = await add(sum, n);\nsum",
    ],
    catching_api_errors=_CATCHING_API_ERRORS,
    raising_api_errors=_RAISING_API_ERRORS,
    catching_tool_errors=_CATCHING_TOOL_ERRORS,
    raising_tool_errors=_RAISING_TOOL_ERRORS,
    other_systems=[
        'import * as calc from "./servers/calc";\nawait calc.add({ a: 1, b: 2 })',
        "import { add } from './servers/calc.ts';\nawait add(1, 2)",
        'import * as calc from "calc-1";\nawait calc.add(1, 2)',
        "import { calc } from './mcp-wrappers';\nawait calc.add({ a: 1, b: 2 })",
        "import { calc as c } from './mcp-wrappers';\nawait c.add(1, 2)",
        'await callMCPTool("mcp__calc__add", { a: 1, b: 2 })',
        "const callMCPTool = (name) => name.length;\ncallMCPTool('abc')",
        "function callMCPTool(name) { return name.length; }\ncallMCPTool('abc')",
    ],
    handing='import * as calc from "calc";\nimport { pages } from "doorward";\n'
    'const found = [];\nfor (const f of [calc.add, calc.add, "calc.add"]) {\n'
    "    const first = await pages(f, { x: 1 });\n    found.push(first[0]);\n}\nfound",
    describing={
        'import * as calc from "calc";\nimport { describe } from "doorward";\n'
        "[await describe(calc.add), await describe('calc.add'), await describe(calc)]": [
            "what calc.add is",
            "what calc.add is",
            "what calc is",
        ],
        'import * as calc from "calc";\nObject.keys(calc).slice(0, 2)': ["add", "echo"],
        'import * as calc from "calc";\n["add" in calc, "nope" in calc, typeof calc.add]': [True, False, "function"],
    },
    helping=(
        'import * as calc from "calc";\nimport * as doorward from "doorward";\n'
        "console.log(await doorward.describe(doorward.pages));\nconsole.log(await doorward.describe(calc.add))",
        ["doorward.pages", "calc.add"],
    ),
    reading='import { read } from "doorward";\nconst file = { artefact: "doorward://results/1" };\n'
    "const bytes = await read(file);\n[bytes, bytes.slice(0, 3)]",
    paging=[
        'import * as calc from "calc";\nimport { items } from "doorward";\n'
        "let sum = 0;\nfor (const item of await items(calc.add, { x: 1 })) sum += item.x;\nsum",
        'import * as doorward from "doorward";\n'
        "(await doorward.items('calc.add', { x: 1 })).map((item) => item.x).reduce((a, b) => a + b)",
        'import { pages } from "doorward";\n'
        "let n = 0;\nfor await (const page of await pages('calc.add', { x: 1 })) n++;\nn",
    ],
    replying=[
        'import * as calc from "calc";\nimport { reply } from "doorward";\n'
        "const answer = await reply(calc.add, { a: 1, b: 2 });\n[answer.value, answer.status, answer.headers.location]",
        'import * as doorward from "doorward";\n'
        'const { value, status, headers } = await doorward.reply("calc.add", { a: 1, b: 2 });\n'
        '[value, status, headers["location"]]',
    ],
    reply='import * as calc from "calc";\nimport { reply } from "doorward";\nawait reply(calc.add, { a: 1 })',
    parameter='const city = "London";\nexport const result = city;',
    failing=(
        'console.log("before");\n\nfunction f() {\n    return undefined.x;\n}\n\nf();',
        "TypeError",
        4,
    ),
    reaching=[
        'Deno.env.get("HOST_CANARY") ?? undefined.x',
        "Deno.readTextFileSync(PATH)",
        'import { readFileSync } from "node:fs";\nreadFileSync(PATH, "utf8")',
        "await import('file://' + PATH)",
        "await (await fetch('file://' + PATH)).text()",
    ],
    filling="let x = [0, 1.5];\nwhile (true) x = x.concat(x);",
    meeting='import * as calc from "calc";\n'
    "const result = await Promise.all(Array.from({ length: 50 }, () => calc.meet({ n: 50 })));",
    waiting='import * as calc from "calc";\n'
    "export const result = await Promise.all([60, 1, 30].map((ms) => calc.wait({ ms })));",
    going_on='import * as calc from "calc";\n'
    "await Promise.all([1, 2, 3].map(async (ms) => {\n  await calc.wait({ ms });\n  await calc.echo(ms);\n}));",
    echoing='import { echo } from "calc";\nconst x = 0;\n'
    "const came = [];\nfor (const one of x) came.push(await echo(one));\ncame",
    numbers='import * as calc from "calc";\nconst n = await calc.echo(-12n * 10n ** 40n);\n'
    "[n === -12n * 10n ** 40n, (await calc.echo([n]))[0] === n, (await calc.add(n, 1)) - n]",
    printing='import { add } from "calc";\nfor (let i = 0; i < 2000; i++) console.log(i);\nawait add(1);\n'
    'process.stdout.write(["ä", "b"].join("-") + ".");',
    flooding="for (let i = 0; i < 3000; i++) console.log(i);\n5",
    misspelt=('console.log("x");\nlet x = = 1;', 2),
    endless={
        "a loop": 'console.log("begun");\nwhile (true);',
        "a sleep": 'console.log("begun");\nawait new Promise((done) => setTimeout(done, 1_000_000));',
        "a call": 'import { wait } from "calc";\nconsole.log("begun");\nawait wait({ ms: 100000 });',
        "a promise": 'console.log("begun");\nawait new Promise(() => {});',
        "microtasks": 'console.log("begun");\nconst again = () => Promise.resolve().then(again);\nawait again();',
        "a blocked thread": 'console.log("begun");\nAtomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);',
        "a regular expression": 'console.log("begun");\n/^(a+)+$/.test("a".repeat(60) + "b");',
        "swallowed errors": 'console.log("begun");\nfor (;;) { try { null.x; } catch { continue; } }',
    },
    repeating="""import { echo } from "calc"; const found = [];
for (const read of [
  Date.now, () => new Date().getTime(), () => new Date().toISOString(), () => performance.now(), Math.random,
  () => crypto.randomUUID(), () => crypto.getRandomValues(new Uint32Array(4)).join(),
]) {
  console.log(found[found.length] = String(read()));
  await echo(found.at(-1));
}
found""",
    session=(
        'import * as calc from "calc";\nlet x = 40;\nfunction f(y) { return calc.add(x, y); }\nconst result = 1;',
        "undefined.x",
        "x = x + 1;\nJSON.stringify(await f(1))",
        "const y = 5;",
        "x",
    ),
    session_errors=("TypeError", "ReferenceError"),
)
