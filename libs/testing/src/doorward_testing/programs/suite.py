"""The programs of the tests of every executor, in one language, and what comes of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Suite:
    """The programs of `ExecutorConformance` in one language. Those of a list have the value that its line names.

    The server `calc` is that of `doorward_testing.Door`.
    """

    values: Mapping[str, Any]
    """Programs by their values: `result` if it is set, else that of the last expression."""

    calls: Sequence[str]
    """3: `calc.add`, by all ways of importing and calling it."""

    catching_api_errors: Sequence[str]
    """`[429, 1.5]`, if what it catches is what it should."""

    raising_api_errors: Sequence[str]
    """Ends by an ApiError of `calc.fail()`, in a line that begins with four spaces."""

    catching_tool_errors: Sequence[str]
    """`the tool says no`, if what it catches is what it should."""

    raising_tool_errors: Sequence[str]
    """Ends by a ToolError of `calc.complain()`, in line 3 or below."""

    other_systems: Sequence[str]
    """3: the names that other systems have for servers, functions and helpers. There may be none."""

    handing: str
    """`["calc.add"] * 3`: a function is handed to `doorward.pages`, twice as itself and once by its name."""

    describing: Mapping[str, Any]
    """Programs that ask what there is, and their values."""

    helping: tuple[str, Sequence[str]]
    """A program that prints descriptions, and the names of what is described."""

    reading: str
    """The bytes of `doorward://results/1`, and the first three of them, by `doorward.read`."""

    paging: Sequence[str]
    """2: the sum or count of two items or pages."""

    replying: Sequence[str]
    """`[3, 201, "/sums/7"]`: the parts of a whole reply."""

    reply: str
    """A whole reply of `calc.add(a=1)`."""

    parameter: str
    """The parameter `city`, a text."""

    failing: tuple[str, str, int]
    """A program that prints `before` and fails in a function: the type of its error, and its line."""

    reaching: Sequence[str]
    """Programs that read the variable HOST_CANARY, and the file in the place of `PATH`, a quoted text."""

    filling: str
    """It takes memory without end."""

    meeting: str
    """`[50] * 50`: so many calls of `calc.meet(n=50)` at once."""

    waiting: str
    """`[60, 1, 30]`: calls of `calc.wait` at once."""

    going_on: str
    """Three calls of `calc.wait` at once (1, 2, 3 ms), after each of which `calc.echo` gets that number."""

    echoing: str
    """The parameter `x`, a list, each part echoed by `calc.echo`."""

    numbers: str
    """`[True, True, 1]`: -12 * 10**40 is a number, comes back as such, and can be calculated with."""

    printing: str
    """It prints 0 to 1999, a line each, calls a function, and prints `ä-b.` without an end of line."""

    flooding: str
    """5: it prints 0 to 2999, a line each."""

    misspelt: tuple[str, int]
    """A program that would print, and whose other line, this one, is no syntax."""

    endless: Mapping[str, str]
    """Programs that do not end, by how. Each prints `begun` first."""

    repeating: str
    """It reads the time, and draws random numbers after that, in all ways. It prints each, gives it to `calc.echo`, and
    has all of them for its value."""

    session: tuple[str, str, str, str, str]
    """Programs of one session: it sets `x` to 40 and has 1 for its value; it fails; it adds 1 to `x` and has the text
    `42` for its value; it has none; and in another session, `x` is unknown."""

    session_errors: tuple[str, str]
    """The types of the errors of those that fail: the second, and the last in another session."""
