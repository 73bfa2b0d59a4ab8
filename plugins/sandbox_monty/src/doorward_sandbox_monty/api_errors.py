"""`doorward.ApiError` and `doorward.ToolError` in Monty, where programs cannot define or import exception classes, and
exceptions cannot have attributes.

They are raised as two built-in exceptions that nothing else raises. Their names in the program are replaced by those,
and reading `status`, `body` or `retry_after` asks the host (`rewriting.py`). Monty raises classes of a fixed list only,
so their own names are told where a program asks for them by `__name__` or `repr`.

The class of an exception that was raised is not the one that its name means in Monty: neither is the other, nor equal
to it, and the former makes no exception. `type(…)` and `__class__` return the latter, which has no `__name__` in Monty:
it is read from its text.
"""

from __future__ import annotations

import binascii
import csv
from collections import OrderedDict
from typing import Any

from doorward import ApiError, DoorwardError, InvalidArguments, ToolError

CLASSES = {"ApiError": ("csv", "Error"), "ToolError": ("binascii", "Incomplete")}
"""Where programs find the class that stands for an error."""

FIELDS = ("status", "body", "retry_after")
DOC, CLASS, NAME = "__doc__", "__class__", "__name__"
OF_REPLIES = ("value", "headers")
"""The attributes of what `doorward.reply` returns, besides its status: Monty's dictionaries have no attributes."""

GET = "doorward__get"
HAS = "doorward__has"
KIND, GATHERED = "doorward__kind", "doorward__gathered"
MADE, SHOWN = "doorward__made", "doorward__shown"
OURS = "doorward__"
"""The prefix of names that we put into a program. If it began with an underscore, Monty's type checker would not
know them in the next text."""

MODULE = "__doorward__"
ERROR = f"{MODULE}.error"
SERVER = f"{MODULE}.server"
ABOUT = f"{MODULE}.about"
STUB = """from typing import Any
def error(message: str) -> dict[str, Any]: ...
def server(name: str) -> str: ...
def about(value: Any) -> Any: ...
"""

NAMED = (
    "ArithmeticError, AssertionError, AttributeError, BaseException, Exception, FileExistsError, FileNotFoundError, "
    "ImportError, IndexError, IsADirectoryError, KeyError, KeyboardInterrupt, LookupError, MemoryError, "
    "ModuleNotFoundError, NameError, NotADirectoryError, NotImplementedError, OSError, OverflowError, "
    "PermissionError, RecursionError, RuntimeError, StopIteration, SyntaxError, SystemExit, TimeoutError, TypeError, "
    "UnboundLocalError, UnicodeDecodeError, UnicodeEncodeError, ValueError, ZeroDivisionError"
)
"""The exceptions among Monty's built-in names."""

PRELUDE = f"""
from typing import Any
from asyncio import gather as {OURS}gather
from csv import Error as {OURS}ApiError
from binascii import Error as {OURS}BinasciiError, Incomplete as {OURS}ToolError
from json import JSONDecodeError as {OURS}JSONDecodeError
from re import PatternError as {OURS}PatternError
from {MODULE} import error as {OURS}error, server as {OURS}module, about as {OURS}about
{OURS}status, {OURS}body, {OURS}retry_after, {OURS}{DOC} = "status", "body", "retry_after", "{DOC}"
{OURS}value, {OURS}headers, {OURS}{CLASS}, {OURS}{NAME} = "value", "headers", "{CLASS}", "{NAME}"
{OURS}names = {{str({OURS}ApiError): "ApiError", str({OURS}ToolError): "ToolError"}}
{OURS}kinds: Any = ({OURS}ApiError, {OURS}ToolError, {OURS}BinasciiError, {OURS}JSONDecodeError, {OURS}PatternError)
{OURS}kinds = {{str(kind): kind for kind in ({NAMED}, *{OURS}kinds)}}  # type: ignore
def {KIND}(value: Any) -> Any:
    return {OURS}kinds.get(str(type(value)), type(value)) if isinstance(value, BaseException) else type(value)
async def {OURS}caught(call: Any) -> Any:
    try:
        return await call
    except Exception as error:
        return error
async def {GATHERED}(*calls: Any) -> Any:
    return await {OURS}gather(*[{OURS}caught(call) for call in calls])
def {GET}(value: Any, name: str, *default: Any) -> Any:
    if name == "{DOC}":
        return {OURS}about(value)
    if name == "{CLASS}":
        return {KIND}(value)
    if name == "{NAME}" and str(value).startswith("<class '"):
        return {OURS}names.get(str(value), str(value)[8:-2].split(".")[-1])
    if isinstance(value, {OURS}ApiError):
        return {OURS}error(str(value))[name]
    if isinstance(value, dict) and name in value:
        return value[name]
    return getattr(value, name, *default)  # type: ignore
def {HAS}(value: Any, name: str) -> bool:
    if isinstance(value, {OURS}ApiError) or (isinstance(value, dict) and name in value):
        return True
    return hasattr(value, name)  # type: ignore
def {MADE}(kind: Any, *args: Any) -> Any:
    return kind(str(args[0]) if len(args) == 1 else str(args))
def {SHOWN}(value: Any) -> str:
    if isinstance(value, ({OURS}ApiError, {OURS}ToolError)):
        return {OURS}names[str(type(value))] + "(" + repr(str(value)) + ")"
    return repr(value)
def {OURS}server(name: str) -> Any:
    found: dict[str, Any] = {{}}
    exec("import " + {OURS}module(name) + " as server", found)
    return found["server"]
"""

_MAX_ERRORS = 100


class Errors:
    """The latest API errors of a run by their message, so that a program can read the fields of one that it caught."""

    def __init__(self) -> None:
        self._raised: OrderedDict[str, dict[str, Any]] = OrderedDict()

    def raised(self, error: DoorwardError) -> dict[str, Any]:
        """The error of a call in the form in which the worker raises it."""
        match error:
            case ApiError():
                return {"exc_type": "_csv.Error", "message": self._keep(error)}
            case ToolError():
                return {"exc_type": "binascii.Incomplete", "message": error.message}
            case InvalidArguments():
                return {"exc_type": "TypeError", "message": error.message}
        return {"exc_type": "RuntimeError", "message": error.message}

    def _keep(self, error: ApiError) -> str:
        """Store the fields of an error. Returns: its message, with spaces appended if another
        error has the same message."""
        fields, message = {name: getattr(error, name) for name in FIELDS}, error.message
        while self._raised.get(message, fields) != fields:
            message += " "
        self._raised[message] = fields
        self._raised.move_to_end(message)
        if len(self._raised) > _MAX_ERRORS:
            self._raised.popitem(last=False)
        return message

    def told(self, message: Any) -> dict[str, Any]:
        return self._raised.get(str(message)) or dict.fromkeys(FIELDS)


def named(inner: BaseException, code: str) -> str:
    """The name that a program has for an error. `csv.Error` is an API error, unless the program reads CSV itself."""
    if isinstance(inner, csv.Error) and (OURS in code or "csv" not in code or "from csv import Error as" in code):
        return "ApiError"
    return "ToolError" if isinstance(inner, binascii.Incomplete) else type(inner).__name__
