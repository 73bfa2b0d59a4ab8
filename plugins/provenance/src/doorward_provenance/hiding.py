"""Texts that strangers may have written leave a run as handles: a model that is shown them could obey them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from doorward import Artefact, Outcome, Run

from doorward_provenance.running import Running

_TEXT_WORDS = 4
_TEXT_CHARACTERS = 60
"""A value with so many words, or characters, may be anything that somebody wrote."""
_QUOTES = frozenset({"server", "program"})
"""Kinds of errors that may quote an answer; those of the others are our own words."""
NOTE = "texts that others may have written are handles here; a program gets the text of one by doorward.read(URI)"


def hidden(outcome: Outcome, run: Run, running: Running) -> Outcome:
    """The outcome with handles in the place of such texts; the same object if there is none."""
    hiding = _Hiding(run.save_text, lambda text: running.may_be_shown(text, run.program.code))
    value, printed, error = hiding.value(outcome.value), outcome.printed, outcome.error
    if printed and hiding.is_text(printed):
        printed = hiding.sentence(printed)
    if error is not None and error.kind in _QUOTES and hiding.is_text(f"{error.message} {error.hint or ''}"):
        error = replace(error, message=hiding.sentence(f"{error.message}\n{error.hint or ''}"), hint=None)
    if not hiding.count:
        return outcome
    run.note(NOTE, about="provenance")
    truncated = outcome.truncated if value is outcome.value else None
    return replace(outcome, value=value, printed=printed, error=error, truncated=truncated)


class _Hiding:
    """Makes handles of texts. `count` of them."""

    def __init__(self, save: Callable[[str], Artefact], may_be_shown: Callable[[str], bool]) -> None:
        self._save, self._may_be_shown = save, may_be_shown
        self.count = 0

    def is_text(self, text: str) -> bool:
        is_long = len(text) > _TEXT_CHARACTERS or len(text.split(None, _TEXT_WORDS)) >= _TEXT_WORDS
        return is_long and not self._may_be_shown(text)

    def sentence(self, text: str) -> str:
        return f'hidden: {len(text)} characters, in a program doorward.read("{self._saved(text).uri}")'

    def value(self, value: Any) -> Any:
        """A value with handles; the same object if it needs none."""
        match value:
            case str() if self.is_text(value):
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
        return self.sentence(key) if self.is_text(key) else key

    def _saved(self, text: str) -> Artefact:
        self.count += 1
        return self._save(text)
