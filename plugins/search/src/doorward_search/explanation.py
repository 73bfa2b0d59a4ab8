"""Why a function was found: which words of the question, or words of their meaning, it has, and where."""

from __future__ import annotations

from doorward.searching import Phrase, stem

from doorward_search.index import IN_BRIEF, IN_NAME, IN_SUMMARY, Index
from doorward_search.ranking import Ranking
from doorward_search.segment import WRITTEN

ITS_OWN = "its own words"
"""The question is the name, id, route or summary of the function."""


MAX_REASONS = 12
"""Reasons that are told of a function: a question may have two hundred words."""


def why(ranking: Ranking, function: int) -> list[str]:
    """`issue (name, summary)` for a word that the function has, `bug as issue (name)` for one of its meaning."""
    index, question = ranking.index, ranking.question
    found = [ITS_OWN] if question.same and (index.same[function] == question.same).any() else []
    said = {stem(word): word for word in reversed(question.written)}
    for concept in ranking.concepts:
        if len(found) == MAX_REASONS:
            break
        asked = " ".join(said.get(word, word) for word in concept.phrase)
        if places := _places(index, concept.phrase, function):
            found.append(f"{asked} ({places})")
            continue
        for phrase in sorted(concept.phrases, key=lambda each: (-concept.phrases[each], each)):
            if places := _places(index, phrase, function):
                words = " ".join(_as_written(index, word, function) for word in phrase)
                found.append(f"{asked} as {words} ({places})")
                break
    return found


def _as_written(index: Index, word: str, function: int) -> str:
    """A word of a function for a stem that it has: nobody writes stems."""
    known = index.written.get(word, [])
    having = [each for each in known if index.postings(WRITTEN + each).place(function) is not None]
    return min(having or known, key=lambda each: (len(each), each), default=word)


def _places(index: Index, phrase: Phrase, function: int) -> str:
    """Where a function has a phrase; "" if it does not have it."""
    if (bits := index.having(phrase).place(function)) is None:
        return ""
    named = [name for bit, name in ((IN_NAME, "name"), (IN_SUMMARY, "summary")) if bits & bit]
    return ", ".join(named) or ("route, tag or server" if bits & IN_BRIEF else "text")
