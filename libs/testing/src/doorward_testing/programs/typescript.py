"""The programs of `ExecutorConformance` in TypeScript: those in JavaScript, and some with types."""

from __future__ import annotations

from dataclasses import replace

from doorward_testing.programs.javascript import JAVASCRIPT

TYPESCRIPT = replace(
    JAVASCRIPT,
    values={
        **JAVASCRIPT.values,
        "const n: number = 1;\ninterface A { b: string }\ntype C = A | null;\nn as number": 1,
        "enum Colour { Red, Green }\nconst c: Colour = Colour.Green;\nc": 1,
        "class A<T> {\n    constructor(private readonly x: T) {}\n    get(): T { return this.x!; }\n}\n"
        "new A<number>(4).get()": 4,
        "const f = async <T,>(x: T): Promise<T> => x;\n(await f({ a: 1 } satisfies object)).a": 1,
        "export type A = { b: number };\nexport const result: A[] = [{ b: 2 }];": [{"b": 2}],
    },
    calls=[
        *JAVASCRIPT.calls,
        'import type { AddArguments } from "calc";\nimport { add, type Sum, Added } from "calc";\n'
        "const given: AddArguments = { a: 1, b: 2 };\nconst sum: Added = await add(given);\nsum as Sum",
    ],
    parameter='const city: string = "London";\nexport const result: string = city;',
    failing=(
        'console.log("before");\n\nenum E { A }\nfunction f(e: E): void { (undefined as any).x; }\n\nf(E.A);',
        "TypeError",
        4,
    ),
    misspelt=('console.log("x");\nlet x: number = = 1;', 2),
)
