"""The search that is there without an engine: exact names first, then whoever has most of the words. It keeps nothing,
and ranks the same functions always the same."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from doorward.data.offload import off_loop
from doorward.data.words import STOP_WORDS, split_words, stem
from doorward.model.calls import effect
from doorward.model.functions import Function
from doorward.model.search import Found, Hit, Search, SearchEngine

if TYPE_CHECKING:
    from doorward.catalog.catalog import Catalog

_TAG = re.compile(r'tag:("[^"]*"|[^\s"]+)')

_NAME, _TEXT = 3, 1
"""What a word counts in the name of a function, and in what is said of it."""


class PlainSearch(SearchEngine):
    """Looks at all functions for each search."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    async def find(self, search: Search) -> Found:
        functions: list[Function] = []
        for server in search.servers:
            of_server = await off_loop(self._catalog.stored_functions(server))
            if search.allowed is not None:
                may = {*search.allowed[server].called()} if server in search.allowed else ()
                of_server = [function for function in of_server if function.name in may]
            functions += of_server
        if search.read_only is not None:
            functions = [each for each in functions if (effect(each) == "read") == search.read_only]
        more = {f"{server}.{name}": words for server, name, words in self._catalog.notes.words()}
        rankings = [await off_loop(partial(_ranked, functions, query, more)) for query in search.queries]
        best: dict[str, tuple[int, int, Function]] = {}
        answers: dict[str, list[int]] = {}
        for number, ranking in enumerate(rankings, 1):
            for place, function in enumerate(ranking):
                known = best.get(function.qualified)
                if known is None or place < known[0]:
                    best[function.qualified] = place, number, function
                answers.setdefault(function.qualified, []).append(number)
        chosen = sorted(best.values(), key=lambda each: each[:2])[search.offset :][: search.limit]
        return Found([Hit(each[2], answers[each[2].qualified]) for each in chosen], len(best), len(best))

    def near(self, words: Sequence[str], servers: Sequence[str], most: int) -> Sequence[Function]:
        functions = [function for server in servers for function in self._catalog.stored_functions(server)()]
        return _ranked(functions, " ".join(words), {})[:most]


def _ranked(functions: Sequence[Function], query: str, more: Mapping[str, Sequence[str]]) -> list[Function]:
    """Those that have any of the words, best first; without words, all in their order. `more` has further stems of
    functions."""
    tags = [tag.strip('"').lower() for tag in _TAG.findall(query)]
    functions = [each for each in functions if all(_tagged(each, tag) for tag in tags)]
    written = split_words(_TAG.sub(" ", query))
    words = {stem(word) for word in written}
    words = words - {stem(word) for word in STOP_WORDS} or words
    if not words:
        return [*functions]
    scored = [(_score(each, words, written, more.get(each.qualified, ())), each) for each in functions]
    return [function for score, function in sorted(scored, key=lambda each: -each[0]) if score]


def _tagged(function: Function, asked: str) -> bool:
    """Whether it has this tag; `*` at the end stands for more."""
    tags = [tag.lower() for tag in function.tags]
    return any(tag.startswith(asked[:-1]) for tag in tags) if asked.endswith("*") else asked in tags


def _score(function: Function, words: set[str], written: Sequence[str], more: Sequence[str]) -> int:
    name = split_words(function.name)
    if written in (name, [*split_words(function.server), *name]):
        return 1000
    takes = [*function.parameters.get("properties", {})]
    text = " ".join([function.server, function.summary, function.description, *function.tags, *takes])
    named, said = {*map(stem, name)}, {*map(stem, split_words(text)), *more}
    return sum(_NAME * (word in named) + _TEXT * (word in said) for word in words)
