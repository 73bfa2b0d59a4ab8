"""Features of Python that Monty lacks, recognised by how a program fails: another executor may have them."""

from __future__ import annotations

import builtins
import importlib
import re
from typing import NamedTuple

from doorward_sandbox_monty.library import LIBRARY

_NO_NAME = re.compile(r"name '(\w+)' is not defined")
_NO_MODULE = re.compile(r"No module named '([\w.]+)'")
_NO_MEMBER = re.compile(r"module '(\w+)' has no attribute '(\w+)'|cannot import name '(\w+)' from '(\w+)'")
_NO_METHOD = re.compile(r"'?int'? (?:object )?has no attribute '(from_bytes|to_bytes)'")
_NO_BYTES = re.compile(
    r"cannot convert '(?:list|tuple|range|set|frozenset|dict|generator|\w*iterator)' object to bytes"
)
_NO_ENVIRONMENT = re.compile(r"'(os\.\w+)' is not supported in this environment")
_NO_VARIABLES = "A program has no variables of the host: write values at its top, where `params` changes them."
_ONE_TEXT = "exceptions can only be called with zero or one string argument"
_NUMBERS = 'bytes.fromhex("".join(f"{number:02x}" for number in numbers)) makes bytes of numbers.'
_INSTEAD_OF_MODULES = {
    "calendar": "`(date.replace(day=28) + datetime.timedelta(days=4)).replace(day=1)` is the first of the next month.",
    "concurrent": "Functions can be awaited: `await asyncio.gather(*(server.function(id=i) for i in ids))`.",
    "enum": "Write constants, or a dictionary.",
    "fnmatch": "`re.fullmatch` matches patterns, `startswith` and `endswith` the ends of a name.",
    "heapq": "`sorted(values)[:n]` are the smallest, `sorted(values, reverse=True)[:n]` the largest.",
    "html": 'Write `text.replace("&lt;", "<")`, and the same for what else there is.',
    "io": '`text.splitlines()` are the lines of a text, which csv.reader takes as well; `"\\n".join(lines)` makes one.',
    "logging": "Write `print(…)`.",
    "operator": 'Write `key=lambda item: item["name"]`.',
    "pprint": "Write `json.dumps(value, indent=2)`.",
    "secrets": 'Write `f"{random.getrandbits(128):032x}"`.',
    "statistics": "`sum(values) / len(values)` is the mean, `sorted(values)[len(values) // 2]` the median.",
    "string": 'Write the characters: `"abcdefghijklmnopqrstuvwxyz"`.',
    "textwrap": "Slices and `splitlines()` cut a text.",
    "traceback": "`str(error)` says what is wrong.",
    "threading": "Functions can be awaited: `await asyncio.gather(*(server.function(id=i) for i in ids))`.",
    "urllib": 'Functions encode what they are given; `url.partition("?")` and `split("&")` take a URL apart.',
    "uuid": 'Write `f"{random.getrandbits(128):032x}"`.',
    "xml": "Answers in XML are read already, where a document describes them; `re.findall` takes a text apart.",
    "zoneinfo": "Write `datetime.timezone(datetime.timedelta(hours=2))`.",
}
_INSTEAD_OF_SYNTAX = {
    "yield": "Collect a list, and return it.",
    "inheritance": "Raise ValueError in place of an error of your own, and write functions in place of subclasses.",
    "decorators": "Write a plain method, and call it.",
    "'del' statement": "Write `values.pop(key)`.",
}
"""What to write instead, by what an error names."""

_NOWHERE = {"input", "breakpoint"}
"""Builtin functions that no sandbox has."""


class MissingFeature(NamedTuple):
    """A feature that Monty lacks, what to write instead, and the module's name if it is a module."""

    what: str
    instead: str
    module: str = ""


def missing_feature(error: str, message: str) -> MissingFeature | None:
    """The missing feature behind an error; `None` if the program itself is wrong."""
    if error == "NotImplementedError" and ("monty" in message or "not yet support" in message):
        plainly = "Write it plainly: lists in place of generators, functions in place of subclasses."
        instead = next((how for what, how in _INSTEAD_OF_SYNTAX.items() if what in message), plainly)
        return MissingFeature(message.replace("The monty syntax parser", "monty"), instead)
    if error == "ModuleNotFoundError" and (module := _NO_MODULE.search(message)):
        instead = _INSTEAD_OF_MODULES.get(module[1].partition(".")[0]) or f"Modules of monty: {', '.join(LIBRARY)}."
        return MissingFeature(f"monty has no module {module[1]!r}", instead, module[1])
    if (
        error == "NameError"
        and (name := _NO_NAME.search(message))
        and hasattr(builtins, name[1])
        and name[1] not in _NOWHERE
    ):
        return MissingFeature(f"monty has no {name[1]!r}", _NUMBERS if name[1] == "bytearray" else "Write it without.")
    if error == "RuntimeError" and (variables := _NO_ENVIRONMENT.match(message)):
        return MissingFeature(f"monty has no {variables[1]}", _NO_VARIABLES)
    if error == "RuntimeError" and _ONE_TEXT in message:
        return MissingFeature("exceptions take no more than one text here", "Give them one: ValueError(str(x)).")
    if error == "TypeError" and _NO_BYTES.search(message):
        return MissingFeature(f"monty: {message}", _NUMBERS)
    if error in ("AttributeError", "ImportError") and (member := _NO_MEMBER.search(message)):
        there, wanted = member[1] or member[4], member[2] or member[3]
        if there in (*LIBRARY, "os", "sys") and hasattr(importlib.import_module(there), wanted):
            return MissingFeature(f"monty has no {there}.{wanted}", "Write it without.")
    if error == "AttributeError" and (method := _NO_METHOD.search(message)):
        return MissingFeature(
            f"monty has no int.{method[1]}", 'int(content.hex(), 16) and bytes.fromhex(f"{number:08x}") do the same.'
        )
    return None
