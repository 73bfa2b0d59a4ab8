"""The names that APIs use for paging: the members of answers that describe the next page, and the parameters that ask
for it. All are plain names (see `plain`)."""

from __future__ import annotations

import re
from functools import lru_cache

_TURNS = re.compile(
    "page|cursor|offset|token|skip|start|after|before|since|until|marker|next|prev|from|continu|bookmark|scroll|seek|position|index|last"
    "|(max|min)id"
)
"""Found in the plain names of parameters that a link may change in order to turn the page."""

_MAX_KNOWN_CHARS = 100
"""Plain names of longer ones are not remembered."""

_PUNCTUATION = re.compile(r"[^a-z0-9]")

HOLDERS = (
    *("meta", "metadata", "pagination", "paging", "page", "pageinfo", "responsemetadata", "links", "cursors", "cursor"),
    *("pageable", "info", "result", "data", "listmetadata", "resultinfo"),
)
"""Members of an answer that hold an object about paging."""

LINKS = (
    *(
        "next",
        "nextlink",
        "odatanextlink",
        "nexturl",
        "nextpageurl",
        "nextpagelink",
        "nexthref",
        "nextpageuri",
        "nextpage",
    ),
    *("nexturi", "nextrecordsurl", "nextpagepath"),
)
CURSORS: dict[str, tuple[str, ...]] = {
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
"""What answers call the token of the next page, each with the parameters that take that token."""

MORE = (
    "hasmore",
    "hasnext",
    "hasnextpage",
    "more",
    "ismore",
    "hasmoreitems",
    "moreitemsincollection",
    "hasmoreresults",
)
LAST = ("islast", "last", "islastpage", "isfinal", "complete", "isdone", "done")
BY_ITEM = ("startingafter", "afterid", "after")
OFFSETS = ("offset", "pageoffset", "startat", "skip", "start", "from", "startindex")
PAGES = ("page", "pagenumber", "pageno", "pageindex", "pagenum", "currentpage")
SIZES = (
    "perpage",
    "pagesize",
    "limit",
    "maxresults",
    "size",
    "count",
    "top",
    "take",
    "first",
    "pagelimit",
    "resultsperpage",
    "pagelen",
)
TOTALS = (
    "total",
    "totalcount",
    "totalresults",
    "totalitems",
    "totalelements",
    "totalrecords",
    "totalsize",
    "odatacount",
)
TOTAL_PAGES = ("totalpages", "lastpage", "pagecount", "numpages", "pages")
INSIDE = ("href", "url", "uri", "link")
"""The member of a link object that holds the URL."""

VAGUE = ("after", "cursor", "marker", "bookmark", "continue")
"""Names of tokens that are also common in answers without any paging: if the function has no parameter for one,
there may be no next page."""


def turns(name: str) -> bool:
    """Whether a parameter of this name turns pages."""
    return bool(_TURNS.search(plain(name)))


def plain(name: str) -> str:
    """A name without case and punctuation, so that `next_page-token` and `nextPageToken` are the same."""
    return _plain(name) if len(name) <= _MAX_KNOWN_CHARS else _plain.__wrapped__(name)


@lru_cache(1024)
def _plain(name: str) -> str:
    lower = name.lower()
    return lower if lower.isascii() and lower.isalnum() else _PUNCTUATION.sub("", lower)
