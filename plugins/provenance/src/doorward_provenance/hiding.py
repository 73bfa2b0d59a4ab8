"""Texts that strangers may have written leave a run as handles: a model that is shown them could obey them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from doorward import Artefact, Outcome, Run

from doorward_provenance.running import Running

_TEXT_WORDS = 4
_TEXT_CHARACTERS = 60
"""A value with so many words, or characters, may be anything that somebody wrote."""
_MOST_PARTS = 12
"""So many words out of longer texts may be facts (a name, a date, an amount). More may be a text in pieces."""
_MOST_LOOKED_AT = 2000
"""A value with more short texts that are no fields may be a text in pieces, too."""
_QUOTES = frozenset({"server", "program"})
"""Kinds of errors that may quote an answer; those of the others are our own words."""
NOTE = "texts that others may have written are handles here; a program gets the text of one by doorward.read(URI)"


def hidden(outcome: Outcome, run: Run, running: Running) -> Outcome:
    """The outcome with handles in the place of such texts; the same object if there is none."""
    in_pieces = _is_text_in_pieces(outcome.value, running)

    def may_be_shown(text: str) -> bool:
        if _is_text(text) or (in_pieces and running.is_part(text)):
            return running.may_be_shown(text, run.program.code)
        return True

    hiding = _Hiding(run.save_text, may_be_shown)
    value, printed, error = hiding.value(outcome.value), outcome.printed, outcome.error
    if printed and not may_be_shown(printed):
        printed = hiding.sentence(printed)
    if error is not None and error.kind in _QUOTES and not may_be_shown(f"{error.message} {error.hint or ''}"):
        error = replace(error, message=hiding.sentence(f"{error.message}\n{error.hint or ''}"), hint=None)
    if not hiding.count:
        return outcome
    run.note(NOTE, about="provenance")
    truncated = outcome.truncated if value is outcome.value else None
    return replace(outcome, value=value, printed=printed, error=error, truncated=truncated)


def _is_text(text: str) -> bool:
    return len(text) > _TEXT_CHARACTERS or len(text.split(None, _TEXT_WORDS)) >= _TEXT_WORDS


def _is_text_in_pieces(value: Any, running: Running) -> bool:
    """Whether a value has so much of longer texts in short pieces that a model could read it as a text."""
    words, seen = 0, set[str]()  # each once: records name the same keys again and again
    for text in _texts(value):
        if text not in seen and not _is_text(text) and not running.is_field(text):
            seen.add(text)
            words += len(text.split()) if running.is_part(text) else 0
            if words > _MOST_PARTS or len(seen) > _MOST_LOOKED_AT:
                return True
    return False


def _texts(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case Mapping():
            yield from value
            for each in value.values():
                yield from _texts(each)
        case list() | tuple():
            for each in value:
                yield from _texts(each)


class _Hiding:
    """Makes handles of texts. `count` of them."""

    def __init__(self, save: Callable[[str], Artefact], may_be_shown: Callable[[str], bool]) -> None:
        self._save, self._may_be_shown = save, may_be_shown
        self.count = 0

    def sentence(self, text: str) -> str:
        return f'hidden: {len(text)} characters, in a program doorward.read("{self._saved(text).uri}")'

    def value(self, value: Any) -> Any:
        """A value with handles; the same object if it needs none."""
        match value:
            case str() if not self._may_be_shown(value):
                about = self._saved(value)
                return {"artefact": about.uri, "type": about.type, "bytes": about.bytes}
            case Mapping():
                made = {self._key(key): self.value(each) for key, each in value.items()}
                return value if all(a is b for a, b in zip(made.values(), value.values(), strict=True)) and (
                    made.keys() == value.keys()
                ) else made  # fmt: skip
            case list() | tuple():
                several = [self.value(each) for each in value]
                return value if all(a is b for a, b in zip(several, value, strict=True)) else several
        return value

    def _key(self, key: str) -> str:
        return key if self._may_be_shown(key) else self.sentence(key)

    def _saved(self, text: str) -> Artefact:
        self.count += 1
        return self._save(text)
