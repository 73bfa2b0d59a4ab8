"""The rules of ruff that are looked at unless the operator says otherwise: what breaks a program, and what to do."""

from __future__ import annotations

from dataclasses import dataclass

UNDEFINED = "F821"
"""ruff's rule for undefined names, which knows nothing of those that programs get for free."""

SYNTAX = "invalid-syntax"
"""What ruff calls syntax errors. It is no rule that could be selected."""


@dataclass(frozen=True, slots=True)
class Rule:
    """Why a rule is looked at, and what the author of a program is told to do. `error`: what Python itself would
    raise."""

    why: str
    instead: str
    error: str = ""


_ERRORS_AS_THEY_ARE = "raise an exception, e.g. `raise ValueError(…)`"
_IN_A_LOOP = "use it in the body of a `for` or `while`"

RULES = {
    UNDEFINED: Rule("a name that nothing defines ends the program, perhaps after half of its calls", "", "NameError"),
    "F701": Rule("`break` outside of a loop is no Python", _IN_A_LOOP, "SyntaxError"),
    "F702": Rule("`continue` outside of a loop is no Python", _IN_A_LOOP, "SyntaxError"),
    "F706": Rule("`return` outside of a function is no Python", "set `result = …` instead of return", "SyntaxError"),
    SYNTAX: Rule("syntax of a newer Python than the executor has", "write it as that Python reads it", "SyntaxError"),
    "F823": Rule("a local name that is read before it is set", "set it first, or declare it `global`"),
    "F632": Rule("`is` with a literal compares identity, not value", "use == or !="),
    "F631": Rule("`assert (x, \"…\")` is always true", "leave out the parentheses"),
    "F634": Rule("`if (x, y):` is always true", "leave out the parentheses and the comma"),
    "PLW0177": Rule("nothing equals NaN, not even NaN", "use math.isnan"),
    "B006": Rule("a mutable default is shared by all calls", "use None as the default, and make the value inside"),
    "B020": Rule("a loop that overwrites what it iterates over", "give the loop variable a name of its own"),
    "RUF006": Rule("a task that nobody holds may vanish, and its failure with it", "keep it, and await it"),
    "ASYNC251": Rule("`time.sleep` stops all calls that run in parallel", "use `await asyncio.sleep(…)`"),
    "B016": Rule("a literal cannot be raised", _ERRORS_AS_THEY_ARE),
    "F901": Rule("NotImplemented is no exception", "raise NotImplementedError"),
    "PLE0704": Rule("a bare `raise` outside of `except` has nothing to raise", _ERRORS_AS_THEY_ARE),
    "B030": Rule("`except` with what is no exception fails when it is needed", "name exception classes"),
    "PLW0711": Rule("`except A or B` handles A alone", "write `except (A, B)`"),
    "PLE0643": Rule("an index behind the end of a list that is written there", "use an index that is there"),
    **dict.fromkeys(
        ("F501", "F502", "F503", "F505", "F506", "F507", "F508", "F509", "F521", "F524", "F525", "PLE1307"),
        Rule("a format that does not fit its values raises", "use an f-string, or fix the format"),
    ),
}  # fmt: skip
"""By ruff's code. The README shows them."""

REFUSED = (UNDEFINED, "F701", "F702", "F706")
"""Those that refuse: with these, a program certainly fails where it comes to that line."""
