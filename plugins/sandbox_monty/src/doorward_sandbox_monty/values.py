"""How large the value of a program is, asked of its worker before anything is made of it here.

While Monty makes Python objects of what came from a worker, nothing else runs in this process: tens of milliseconds for
a hundred thousand objects. So the value has a name in the worker, where its parts are counted if reading it took long.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from functools import cache
from typing import Any

import pydantic_monty as monty
from doorward import LimitExceeded

from doorward_sandbox_monty.rewriting import Places, ends

MAX_PARTS = 100_000
"""As in other executors."""

SUSPICIOUS_SECONDS = 0.005
"""The processor's time for reading a value that may have many parts."""

_LONG_SECONDS = 0.06
"""The same for one that is certainly too large for its parts to be taken on trust: a busy machine takes a third of that
for a small one."""

MOST_SECONDS = 0.08
"""The same for the arguments of a call, whose parts nobody can count before they are made: a million and more, or 60 MB
of text. To make them takes less again, and blocks everybody; core takes a tenth of that many parts."""

MANY_PARTS, MUCH_TEXT = 20_000, 2_000_000
"""An answer with more parts, or characters and bytes, takes so long to send that how long the next arguments take says
nothing."""

VALUE = "doorward_value"
"""The name of the value; unlike those in `api_errors` no sign that a program needs `PRELUDE`."""

RESULT = f"({VALUE} := result)"

_TYPES = (bool, bytes, dict, float, frozenset, int, list, set, str, tuple)

COUNT = re.sub(
    rf"\b({'|'.join(['isinstance', 'len', *(kind.__name__ for kind in _TYPES)])})\b",
    rf"{VALUE}_\1",
    f"""
def {VALUE}_parts(most):
    todo, count, opaque = [{VALUE}], 0, False
    while todo and count <= most:
        one = todo.pop()
        count += 1
        if isinstance(one, (str, bytes)):
            count += len(one) // 1000
        elif isinstance(one, (dict, list, tuple, set, frozenset)):
            if len(one) > most:
                return [len(one), opaque]
            todo.extend(one)
            if isinstance(one, dict):
                todo.extend(one.values())
        elif not (one is None or isinstance(one, (bool, int, float))):
            opaque = True
    return [count, opaque]
{VALUE}_found = {VALUE}_parts({MAX_PARTS})
{VALUE} = None
{VALUE}_found
""",
)
"""Counts the parts of the value, a thousand characters as one, and says whether it has objects whose attributes cannot
be counted; then the value is let go. Its inputs are `builtins()`: a program can give their usual names other values."""


@cache
def builtins() -> Mapping[str, Any]:
    """What `COUNT` calls by names of its own. It starts a worker, and waits for that."""
    with monty.Monty(max_processes=1) as pool, pool.checkout() as session:
        functions = session.feed_run("{'isinstance': isinstance, 'len': len}")
    return {f"{VALUE}_{name}": value for name, value in functions.items()} | {
        f"{VALUE}_{kind.__name__}": kind for kind in _TYPES
    }


def kept(code: str) -> str:
    """The program with a name for the value of its last expression. Lines stay where they are."""
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return code  # Monty reports the syntax error
    last = tree.body[-1] if tree.body else None
    if not isinstance(last, ast.Expr) or ends(last.value):
        return code
    text = code.encode()
    start, end = Places(text).of(last.value)
    return (text[:start] + f"({VALUE} := (".encode() + text[start:end] + b"))" + text[end:]).decode()


def is_large(answer: Any) -> bool:
    """Whether an answer takes long to send: `MANY_PARTS`, `MUCH_TEXT`."""
    parts, text, todo = 0, 0, [answer]
    while todo and parts <= MANY_PARTS and text <= MUCH_TEXT:
        value = todo.pop()
        parts += 1
        if isinstance(value, (str, bytes)):
            text += len(value)
        elif isinstance(value, dict):
            parts += len(value)
            todo += [*value.values()][:MANY_PARTS]
        elif isinstance(value, (list, tuple)):
            todo += value[:MANY_PARTS]
            parts += max(0, len(value) - MANY_PARTS)
    return parts > MANY_PARTS or text > MUCH_TEXT


def too_large(counted: object, seconds: float) -> LimitExceeded | None:
    """The error of a value that took so long to be read, by what `COUNT` found; of one that has no name, None."""
    parts, opaque = counted if isinstance(counted, list) else (0, True)
    if parts <= MAX_PARTS and not (opaque and seconds > _LONG_SECONDS):
        return None
    hint = "Filter or aggregate in the program, or return one text, for example JSON."
    return LimitExceeded(f"the value has more than {MAX_PARTS:,} parts", hint=hint)
