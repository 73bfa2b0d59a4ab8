"""The words with which APIs page: what answers say of the next page, and the parameters that take it. All are plain
names."""

from __future__ import annotations

import re

_TURNS = re.compile(
    "page|cursor|offset|token|skip|start|after|before|since|until|marker|next|prev|from|continu|bookmark|scroll|seek|position|index|last"
    "|(max|min)id"
)
"""In the plain names of parameters by which links turn pages."""

HOLDERS = (
    *("meta", "metadata", "pagination", "paging", "page", "pageinfo", "responsemetadata", "links", "cursors", "cursor"),
    *("pageable", "info", "result", "data", "listmetadata", "resultinfo"),
)
"""Objects in which answers tell of paging."""

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
"""What answers call the next page's token, and the parameters that take it."""

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
"""What the object of a link calls the link."""

VAGUE = ("after", "cursor", "marker", "bookmark", "continue")
"""Tokens for which a function without a parameter for them need not be one that pages."""


def turns(name: str) -> bool:
    """Whether a parameter of this name turns pages."""
    return bool(_TURNS.search(plain(name)))


def plain(name: str) -> str:
    """A name without case and punctuation: `next_page-token`, `nextPageToken` and `@odata.nextLink` are one spelling
    each."""
    return re.sub(r"[^a-z0-9]", "", name.lower())
