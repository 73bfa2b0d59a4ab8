"""The next page: the arguments that get it, if the answer and the function's parameters show them, else a link.

Of the program's own arguments, only those are changed whose names say that they turn pages. `links.py` decides where a
link may lead. There is no next page if no argument would change; callers also stop when a page comes twice.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from doorward import Function
from doorward.values import effect
from doorward_text import items_of

from doorward_openapi.calls import page_words as words
from doorward_openapi.calls.page_words import plain, turns
from doorward_openapi.operations import pageable

_LINK = re.compile(r"<([^<>]{1,8000})>([^<]{0,2000})")
_REL_NEXT = re.compile(r"""(?i)[;\s]rel\s*=\s*(?:"(?:[^"]*\s)?next(?:\s[^"]*)?"|'next'|next\b)""")
_REL_OTHER = re.compile(r"""rel\s*=\s*"?(?:prev|first|last)""")
_PREFIX = re.compile("^x(ms)?")
_TOKENS = tuple(dict.fromkeys((*words.LINKS, *words.CURSORS)))
"""The names of links and tokens, in the order in which they are asked for."""
_SAYING = frozenset((*_TOKENS, *words.MORE, *words.LAST))
"""What an answer calls the next page, and whether there is one."""

_COUNTED = frozenset((*words.OFFSETS, *words.PAGES))

_MAX_HEADER_CHARS = 100
"""Length of the name of a header that may be about paging."""

_BY_COUNT = {*words.BY_ITEM, *words.OFFSETS, *words.PAGES}
"""Parameters for whose next value the items of the answer are needed."""

MAX_LINK_CHARS = 8000
"""Length of a link or a page token."""


@dataclass(frozen=True, slots=True)
class NextPage:
    """What an answer says about the next page: a `link` to it; the `arguments` that get it, also for when the link
    cannot be followed; or in `left` why neither is known. All are empty if there is no next page."""

    arguments: dict[str, Any] | None = None
    link: str = ""
    left: str = ""


def following(
    function: Function, arguments: Mapping[str, Any], headers: Mapping[str, str], value: Any, *, by_link: bool = False
) -> NextPage:
    """How to get the page after this answer. `by_link`: the answer came from a link, so the arguments do
    not tell which page it is."""
    call = _Call(function, arguments)
    if not isinstance(value, (dict, list)) or effect(function) == "destructive":
        return NextPage()
    if (plan := function.data.get("pages")) is not None:
        told = pageable.at(value, plan["link"])
        return call.linked(told, alone=False) if isinstance(told, str) and told.strip() else NextPage()
    links = headers.get("link", "")
    if "rel" in links and (found := [m[1] for m in _LINK.finditer(links[:20_000]) if _REL_NEXT.search(m[2])]):
        return call.linked(found[0])
    said = dict(_in_headers(headers)) | dict(_told(value))
    if _SAYING.isdisjoint(said) and _COUNTED.isdisjoint(call.parameters):
        return NextPage()  # most answers are no pages
    more = _flag(said)
    if more is False or _REL_OTHER.search(links):
        return NextPage()
    if (told := _cursor(call, said)) is not None and not told.left and not (told == NextPage() and _total(call, said)):
        return told
    if by_link:
        return NextPage()
    items = items_of(value) if call.parameters.keys() & _BY_COUNT else None
    if more and (by_item := _last_item(call, said, items)):
        return NextPage(by_item)
    if items and (counted := _counted(call, said, items, more)):
        return NextPage(counted)
    if told is None and more:
        return NextPage(
            left="it says that there is more, and nothing of how to get that with the parameters of this function"
        )
    return told or NextPage()


class _Call:
    """The call that was answered: its parameters by their plain names."""

    def __init__(self, function: Function, arguments: Mapping[str, Any]) -> None:
        self._arguments = arguments
        self._reads = function.read_only
        self._properties: Mapping[str, Any] = function.parameters.get("properties", {})
        self.parameters: dict[str, str] = {}
        self._query: dict[str, str] = {}
        for wire in function.data.get("arguments", ()):
            if wire["in"] in ("query", "body", "header") and wire.get("name"):
                self.parameters.setdefault(
                    _bare(str(wire["name"])) if wire["in"] == "header" else plain(str(wire["name"])), wire["arg"]
                )
            if wire["in"] == "query":
                self._query[str(wire["name"])] = wire["arg"]

    def first(self, names: tuple[str, ...], *, counted: bool = False) -> str | None:
        """The first argument that has one of these names; with `counted`, the first that is a number."""
        known = (self.parameters[name] for name in names if name in self.parameters)
        return next((argument for argument in known if not counted or self._counts(argument)), None)

    def given(self, names: tuple[str, ...]) -> bool:
        """Whether the call has an argument of one of these names."""
        return any(self.parameters.get(name) in self._arguments for name in names)

    def _counts(self, argument: str) -> bool:
        kind = self._schema(argument).get("type")
        return (
            kind in ("integer", "number")
            or (isinstance(kind, list) and "integer" in kind)
            or self.number(argument) is not None
        )

    def number(self, argument: str | None) -> int | None:
        """The value of an argument, or its default, if that is a whole number."""
        if argument is None:
            return None
        schema = self._schema(argument)
        return _whole(self._arguments.get(argument, schema.get("default")))

    def minimum(self, argument: str) -> int | None:
        return _whole(self._schema(argument).get("minimum"))

    def with_(self, changes: Mapping[str, Any]) -> dict[str, Any] | None:
        """The arguments with some changed; `None` if nothing changes."""
        changed = {**self._arguments, **{name: self._fitting(name, value) for name, value in changes.items()}}
        return changed if changed != self._arguments else None

    def linked(self, url: str, *, alone: bool = True) -> NextPage:
        """The next page by a link: as arguments if its query consists of nothing else; otherwise, or if the document
        declares the link (not `alone`), the link itself."""
        try:
            query = parse_qsl(urlsplit(url).query, keep_blank_values=True, max_num_fields=200)
        except ValueError:
            return NextPage(link=url)
        names = [name for name, _ in query]
        changes = {
            self._query[name]: value
            for name, value in query
            if name in self._query
            and names.count(name) == 1
            and not self._is(self._query[name], value)
            and self._turns(name)
        }
        changed = self.with_(changes)
        turned = any(name in self._query and self._query[name] in changes and turns(name) for name in names)
        unsaid = any(name not in self._query and turns(name) for name in names)
        if not changed or not (turned or not unsaid):
            return NextPage(link=url)
        return NextPage(changed, "" if turned and not unsaid and alone else url)

    def _turns(self, name: str) -> bool:
        """Whether a link may change this parameter: an answer may turn the page, and decides
        nothing else about a call."""
        return turns(name) or (self._reads and self._query[name] not in self._arguments)

    def _is(self, argument: str, text: str) -> bool:
        """Whether an argument has the value that stands in a query, or a value that no single text can express."""
        present = self._arguments.get(argument)
        return isinstance(present, (list, dict, bool)) or (present is not None and str(present) == text)

    def _schema(self, argument: str) -> Mapping[str, Any]:
        schema = self._properties.get(argument)
        return schema if isinstance(schema, Mapping) else {}

    def _fitting(self, argument: str, value: Any) -> Any:
        """A token in the type that the parameter wants: APIs send numbers where they take
        text, and queries are text."""
        kind = self._schema(argument).get("type")
        kinds = kind if isinstance(kind, list) else [kind]
        if "string" in kinds:
            return str(value)
        if ("integer" in kinds or "number" in kinds or isinstance(self._arguments.get(argument), int)) and (
            n := _whole(value)
        ) is not None:
            return n
        return value


def _in_headers(headers: Mapping[str, str]) -> Iterator[tuple[str, Any]]:
    """What headers say about paging: totals, and tokens of the next page."""
    for key, text in headers.items():
        name = _bare(key) if len(key) <= _MAX_HEADER_CHARS else ""
        if name.startswith("total") or (name in words.CURSORS and name.startswith(("next", "continuation"))):
            yield name, text


@lru_cache(1024)
def _bare(header: str) -> str:
    """The plain name of a header without its prefix: `X-Total-Count` is `totalcount`."""
    return _PREFIX.sub("", plain(header))


def _told(value: Any, depth: int = 0) -> Iterator[tuple[str, Any]]:
    """What an answer says besides its items, by plain names: at its top level, and in the objects
    that APIs have for paging."""
    if not isinstance(value, dict) or depth > 3:
        return
    for key, inner in value.items():
        name = plain(key)
        if isinstance(inner, dict):
            if depth:
                yield from ((plain(k), inner[k]) for k in ("after", "next") if isinstance(inner.get(k), (str, int)))
            if depth or "next" in name:
                yield from ((name, inner[k]) for k in words.INSIDE if isinstance(inner.get(k), str))
            if name in words.HOLDERS or "next" in name:
                yield from _told(inner, depth + 1)
        elif name == "links" and isinstance(inner, list):
            named = [link for link in inner[:50] if isinstance(link, dict) and link.get("rel") == "next"]
            yield from (("next", link[k]) for link in named for k in words.INSIDE if isinstance(link.get(k), str))
    yield from ((plain(key), inner) for key, inner in value.items() if not isinstance(inner, (dict, list)))


def _flag(told: Mapping[str, Any]) -> bool | None:
    """Whether there are more pages, if the answer says so outright."""
    for name in filter(told.__contains__, words.MORE):
        if isinstance(told[name], bool):
            return bool(told[name])
    return next((not told[name] for name in words.LAST if isinstance(told.get(name), bool)), None)


def _cursor(call: _Call, told: Mapping[str, Any]) -> NextPage | None:
    """The next page by the token or the link in the answer; empty if the answer says that there is none;
    `None` if it says nothing."""
    silent, link, unsaid = True, None, ""
    for name in filter(told.__contains__, _TOKENS):
        token = told[name]
        if token in (None, "", False, 0, "0"):
            silent = silent and (name not in words.CURSORS or call.first(words.CURSORS[name]) is None)
        elif isinstance(token, str) and len(token) > MAX_LINK_CHARS:
            unsaid = unsaid or name
        elif (
            isinstance(token, str)
            and name in words.LINKS
            and ("?" in token or token.startswith(("http:", "https:", "/")))
        ):
            if not (found := call.linked(token)).link:
                return found
            link = link or found
        elif isinstance(token, (str, int)) and (argument := call.first(words.CURSORS.get(name, ()))):
            return NextPage(call.with_({argument: token}))
        elif isinstance(token, (str, int)) and name not in words.VAGUE:
            unsaid = unsaid or name
    if link or not silent:
        return link or NextPage()
    return NextPage(left=f"the function has no parameter for what the answer calls {unsaid}") if unsaid else None


def _total(call: _Call, told: Mapping[str, Any]) -> bool:
    """Whether a total says where the pages end, and not the empty token: the call did not turn pages by tokens, but
    could by counting."""
    empty = [name for name in words.CURSORS if name in told and not told[name]]
    counted = not call.parameters.keys().isdisjoint(_COUNTED) and next(_numbers(told, words.TOTALS), None) is not None
    return (
        counted and told.keys().isdisjoint(words.LINKS) and not any(call.given(words.CURSORS[name]) for name in empty)
    )


def _last_item(call: _Call, told: Mapping[str, Any], items: list[Any] | None) -> dict[str, Any] | None:
    """The arguments for APIs whose parameter takes the id of the last item (Stripe, OpenAI,
    Anthropic), if there is more."""
    argument = call.first(words.BY_ITEM)
    last = items[-1] if items else None
    token = told.get("lastid") or (last.get("id") if isinstance(last, dict) else None)
    return call.with_({argument: token}) if argument and isinstance(token, (str, int)) else None


def _counted(call: _Call, told: Mapping[str, Any], items: list[Any], more: bool | None) -> dict[str, Any] | None:
    """The arguments with the next offset or page number, while the totals, the size of this page or a flag in the
    answer say that there is more."""
    size = call.number(call.first(words.SIZES)) or next(filter(None, _numbers(told, words.SIZES)), None)
    full = size is None or len(items) >= size
    total = next(_numbers(told, words.TOTALS), None)
    if argument := call.first(words.OFFSETS, counted=True):
        start = call.number(argument)
        base = 1 if argument.lower().replace("_", "") == "startindex" else 0
        after = (base if start is None else start) + len(items)
        there = after - base < total if total is not None else full
        return call.with_({argument: after}) if more or there else None
    if argument := call.first(words.PAGES, counted=True):
        first = 0 if call.minimum(argument) == 0 or call.number(argument) == 0 else 1
        page = call.number(argument)
        page = first if page is None else page
        pages = next(_numbers(told, words.TOTAL_PAGES), None)
        if pages is None and total is not None and size:
            pages = -(-total // size)
        there = page - first + 1 < pages if pages is not None else full
        return call.with_({argument: page + 1}) if more or there else None
    return None


def _numbers(told: Mapping[str, Any], names: Iterable[str]) -> Iterator[int]:
    """The whole numbers that an answer has under these names."""
    return (n for name in names if name in told and (n := _whole(told[name])) is not None)


def _whole(value: Any) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    return int(value) if isinstance(value, str) and value.isdecimal() and len(value) < 18 else None
