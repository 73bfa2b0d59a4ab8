"""The next page: the arguments that get it, as far as the answer and the function's parameters show.

Only arguments of the same function come out of an answer, never a place to go: what a link says of hosts and paths is
not read. Of those that the program gave, only such are changed as turn pages by their name. Ends where nothing would change; whoever
follows ends where a page comes twice.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from doorward import Function

_LINK = re.compile(r"<([^<>]{1,8000})>([^<]{0,2000})")
_REL_NEXT = re.compile(r"""(?i)[;\s]rel\s*=\s*(?:"(?:[^"]*\s)?next(?:\s[^"]*)?"|'next'|next\b)""")

_TURNS = re.compile(
    "page|cursor|offset|token|skip|start|after|before|since|until|marker|next|prev|from|continu|bookmark|scroll|seek|position|index|last"
    "|(max|min)id"
)
"""In the plain names of parameters by which links turn pages."""

_LONGEST = 8000
"""Characters of a link or a token."""

_HOLDERS = (
    *("meta", "metadata", "pagination", "paging", "page", "pageinfo", "responsemetadata", "links", "cursors", "cursor"),
    *("pageable", "info", "result", "data", "listmetadata", "resultinfo"),
)
"""Objects in which answers tell of paging."""

_LINKS = ("next", "nextlink", "odatanextlink", "nexturl", "nextpageurl", "nextpagelink", "nexthref", "nextpageuri", "nextpage")
_CURSORS: dict[str, tuple[str, ...]] = {
    "nextcursor": ("cursor", "nextcursor", "startcursor", "pagecursor", "after", "startingafter", "pagetoken"),
    "nextpagetoken": ("pagetoken", "nextpagetoken", "token", "cursor"),
    "nexttoken": ("nexttoken", "token", "pagetoken", "cursor", "starttoken", "continuationtoken"),
    "nextpageid": ("pageid", "cursor", "pagetoken"),
    "continuationtoken": ("continuationtoken", "continuation", "token"),
    "continue": ("continue",),
    "endcursor": ("after", "cursor"),
    "after": ("after", "cursor", "startingafter", "pagecursor"),
    "nextmarker": ("marker", "nextmarker"),
    "bookmark": ("bookmark",),
    "scrollid": ("scrollid",),
    "nextoffset": ("offset", "start", "skip", "from"),
    "nextpage": ("page", "pagenumber", "pageno", "cursor", "pagetoken", "nextpage"),
    "next": ("cursor", "after", "next", "page", "pagetoken", "start", "offset", "marker"),
    "cursor": ("cursor", "after"),
    "marker": ("marker",),
}
"""What answers call the next page's token, and the parameters that take it."""

_MORE = ("hasmore", "hasnext", "hasnextpage", "more", "ismore", "hasmoreitems", "moreitemsincollection", "hasmoreresults")
_LAST = ("islast", "last", "islastpage", "isfinal", "complete", "isdone", "done")
_BY_ITEM = ("startingafter", "afterid", "after")
_OFFSETS = ("offset", "pageoffset", "startat", "skip", "start", "from", "startindex")
_PAGES = ("page", "pagenumber", "pageno", "pageindex", "pagenum", "currentpage")
_SIZES = ("perpage", "pagesize", "limit", "maxresults", "size", "count", "top", "take", "first", "pagelimit", "resultsperpage", "pagelen")
_TOTALS = (
    "total",
    "totalcount",
    "totalresults",
    "totalitems",
    "totalelements",
    "totalrecords",
    "totalsize",
    "odatacount",
    "xtotalcount",
    "xtotal",
)
_TOTAL_PAGES = ("totalpages", "lastpage", "pagecount", "numpages", "pages", "xtotalpages")
_ITEMS = ("data", "items", "results", "value", "values", "records", "entries", "rows", "content", "elements", "list", "resources")


def following(function: Function, arguments: Mapping[str, Any], headers: Mapping[str, str], value: Any) -> dict[str, Any] | None:
    """The arguments of the call that gets the next page; `None` if there is none or none is known."""
    call = _Call(function, arguments)
    if not call.parameters or not isinstance(value, (dict, list)) or function.destructive:
        return None
    links = headers.get("link", "")
    if "rel" in links and (found := [m[1] for m in _LINK.finditer(links[:20_000]) if _REL_NEXT.search(m[2])]):
        return call.linked(found[0])
    told = {"x" + key[2:].replace("-", ""): text for key, text in headers.items() if key.startswith("x-total")}
    told |= dict(_told(value))
    more = _flag(told)
    items = _items(value)
    if more is False or re.search(r"""rel\s*=\s*"?(?:prev|first|last)""", links):
        return None
    if (changed := _cursor(call, told)) is not None:
        return changed or None
    if more and (by_item := _last_item(call, told, items)):
        return by_item
    return _counted(call, told, items, more) if items else None


class _Call:
    """The call that was answered: its parameters by their plain names."""

    def __init__(self, function: Function, arguments: Mapping[str, Any]) -> None:
        self._arguments = arguments
        self._reads = function.read_only
        self._properties: Mapping[str, Any] = function.parameters.get("properties", {})
        self.parameters: dict[str, str] = {}
        self._query: dict[str, str] = {}
        for wire in function.data.get("arguments", ()):
            if wire["in"] in ("query", "body") and wire.get("name"):
                self.parameters.setdefault(_plain(str(wire["name"])), wire["arg"])
            if wire["in"] == "query":
                self._query[str(wire["name"])] = wire["arg"]

    def first(self, names: tuple[str, ...], *, counted: bool = False) -> str | None:
        """The first argument of one of these names; `counted`: that is a number."""
        known = (self.parameters[name] for name in names if name in self.parameters)
        return next((argument for argument in known if not counted or self._counts(argument)), None)

    def _counts(self, argument: str) -> bool:
        kind = self._schema(argument).get("type")
        return kind in ("integer", "number") or (isinstance(kind, list) and "integer" in kind) or self.number(argument) is not None

    def number(self, argument: str | None) -> int | None:
        """The whole number that an argument is, or is by default."""
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

    def linked(self, url: str) -> dict[str, Any] | None:
        """The arguments that the query of a link stands for."""
        try:
            query = parse_qsl(urlsplit(url).query, keep_blank_values=True, max_num_fields=200)
        except ValueError:
            return None
        names = [name for name, _ in query]
        changes = {
            self._query[name]: value
            for name, value in query
            if name in self._query and names.count(name) == 1 and not self._is(self._query[name], value) and self._turns(name)
        }
        return self.with_(changes)

    def _turns(self, name: str) -> bool:
        """Whether a link may change a parameter: an answer turns the page, and decides nothing else of a call."""
        return bool(_TURNS.search(_plain(name))) or (self._reads and self._query[name] not in self._arguments)

    def _is(self, argument: str, text: str) -> bool:
        """Whether an argument has the value that a query says, or one that no single text can say."""
        present = self._arguments.get(argument)
        return isinstance(present, (list, dict, bool)) or (present is not None and str(present) == text)

    def _schema(self, argument: str) -> Mapping[str, Any]:
        schema = self._properties.get(argument)
        return schema if isinstance(schema, Mapping) else {}

    def _fitting(self, argument: str, value: Any) -> Any:
        """A token as the parameter wants it: APIs answer numbers where they take text, and queries are text."""
        kind = self._schema(argument).get("type")
        kinds = kind if isinstance(kind, list) else [kind]
        if "string" in kinds:
            return str(value)
        if ("integer" in kinds or "number" in kinds or isinstance(self._arguments.get(argument), int)) and (n := _whole(value)) is not None:
            return n
        return value


def _told(value: Any) -> Iterator[tuple[str, Any]]:
    """What an answer says beside its items, by plain names: at the top, and in the objects that are there for it."""
    if not isinstance(value, dict):
        return
    for key, inner in value.items():
        if isinstance(inner, dict) and _plain(key) in _HOLDERS:
            for name, deeper in inner.items():
                if isinstance(deeper, dict):
                    yield from ((_plain(name if k == "href" else k), deeper[k]) for k in ("href", "after", "next") if k in deeper)
                elif not isinstance(deeper, list):
                    yield _plain(name), deeper
    yield from ((_plain(key), inner) for key, inner in value.items() if not isinstance(inner, (dict, list)))


def _flag(told: Mapping[str, Any]) -> bool | None:
    """Whether there is more, where the answer says so outright."""
    for name in _MORE:
        if isinstance(told.get(name), bool):
            return bool(told[name])
    return next((not told[name] for name in _LAST if isinstance(told.get(name), bool)), None)


def _cursor(call: _Call, told: Mapping[str, Any]) -> dict[str, Any] | None:
    """The arguments with the token or the link that the answer gives; none left ({}) if it says that there is no next;
    `None` if it does not speak of it."""
    silent = True
    for name in dict.fromkeys((*_LINKS, *_CURSORS)):
        if name not in told:
            continue
        token = told[name]
        if isinstance(token, str) and len(token) > _LONGEST:
            continue
        if token in (None, "", False, 0, "0"):
            silent = silent and (name not in _CURSORS or call.first(_CURSORS[name]) is None)
            continue
        if isinstance(token, str) and name in _LINKS and ("?" in token or token.startswith(("http:", "https:", "/"))):
            if changed := call.linked(token):
                return changed
        elif isinstance(token, (str, int)) and (argument := call.first(_CURSORS.get(name, ()))):
            return call.with_({argument: token}) or {}
    return None if silent else {}


def _last_item(call: _Call, told: Mapping[str, Any], items: list[Any] | None) -> dict[str, Any] | None:
    """There is more, and the parameter takes the id of the last item (Stripe, OpenAI, Anthropic)."""
    argument = call.first(_BY_ITEM)
    last = items[-1] if items else None
    token = told.get("lastid") or (last.get("id") if isinstance(last, dict) else None)
    return call.with_({argument: token}) if argument and isinstance(token, (str, int)) else None


def _counted(call: _Call, told: Mapping[str, Any], items: list[Any], more: bool | None) -> dict[str, Any] | None:
    """By offset or by the number of the page: while the totals, the size of the page or the answer's word say that more is there."""
    size = call.number(call.first(_SIZES)) or next((n for name in _SIZES if (n := _whole(told.get(name)))), None)
    full = size is None or len(items) >= size
    total = next((n for name in _TOTALS if (n := _whole(told.get(name))) is not None), None)
    if argument := call.first(_OFFSETS, counted=True):
        start = call.number(argument)
        base = 1 if argument.lower().replace("_", "") == "startindex" else 0
        after = (base if start is None else start) + len(items)
        there = after - base < total if total is not None else full
        return call.with_({argument: after}) if more or there else None
    if argument := call.first(_PAGES, counted=True):
        first = 0 if call.minimum(argument) == 0 or call.number(argument) == 0 else 1
        page = call.number(argument)
        page = first if page is None else page
        pages = next((n for name in _TOTAL_PAGES if (n := _whole(told.get(name))) is not None), None)
        if pages is None and total is not None and size:
            pages = -(-total // size)
        there = page - first + 1 < pages if pages is not None else full
        return call.with_({argument: page + 1}) if more or there else None
    return None


def _items(value: Any, depth: int = 0) -> list[Any] | None:
    """The list that a page is made of."""
    if isinstance(value, list) or not isinstance(value, dict) or depth > 5:
        return value if isinstance(value, list) else None
    plain = {_plain(key): inner for key, inner in value.items()}
    for name in _ITEMS:
        if isinstance(plain.get(name), list):
            return list(plain[name])
    lists = [inner for inner in value.values() if isinstance(inner, list)]
    if len(lists) == 1:
        return lists[0]
    return next((_items(plain[name], depth + 1) for name in ("data", "result", "embedded") if isinstance(plain.get(name), dict)), None)


def _plain(name: str) -> str:
    """A name without case and punctuation: `next_page-token`, `nextPageToken` and `@odata.nextLink` are one spelling each."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _whole(value: Any) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    return int(value) if isinstance(value, str) and value.isdecimal() and len(value) < 18 else None
