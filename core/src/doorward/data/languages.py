"""The languages of programs: their names, also short ones, and the files that hold them."""

from __future__ import annotations

from pathlib import PurePath

PYTHON, TYPESCRIPT, JAVASCRIPT = "python", "typescript", "javascript"

JSON = "json"
"""No language of programs, but of single calls: their arguments are JSON, and nobody writes code."""

_SUFFIXES = {
    **dict.fromkeys((".py",), PYTHON),
    **dict.fromkeys((".ts", ".mts"), TYPESCRIPT),
    **dict.fromkeys((".js", ".mjs"), JAVASCRIPT),
}
_SHORT_NAMES = {"py": PYTHON, "python3": PYTHON, "ts": TYPESCRIPT, "js": JAVASCRIPT}

_MAX_NAME_CHARACTERS = 40


def named(text: str) -> str:
    """The language that a word means; an unknown word stays as it is. Executors may know more languages than core."""
    word = str(text).strip().lower()[:_MAX_NAME_CHARACTERS]
    return _SHORT_NAMES.get(word, word)


def of_file(name: str) -> str:
    """The language of a file, by the end of its name; "" if that says nothing."""
    return _SUFFIXES.get(PurePath(name).suffix.lower(), "")


def comment_mark(language: str) -> str:
    """What begins a comment in texts for agents that write this language."""
    return "//" if is_script(language) or language == JSON else "#"


def is_script(language: str) -> bool:
    """Whether programs of this language are modules of JavaScript, with types or without."""
    return language in (TYPESCRIPT, JAVASCRIPT)
