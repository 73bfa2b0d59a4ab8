"""Links to the next page, and where such a link may lead.

A link from an upstream is as untrusted as everything else that it sends. Following one repeats the same call: a GET,
also where the call itself was a POST, within the API, with the program's arguments, to the path of that call or below
it, or anywhere in the API if the document says that links are to be followed. It never reaches another function, unless
the run may call that one too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, unquote_plus, urljoin, urlsplit

from doorward import InvalidArguments, Reply
from doorward.values import aside

from doorward_openapi.calls import pages
from doorward_openapi.calls.further import Further
from doorward_openapi.calls.page_words import plain, turns
from doorward_openapi.calls.pages import MAX_LINK_CHARS
from doorward_openapi.calls.request import Request
from doorward_openapi.document.servers import origin, same_origin, shown
from doorward_openapi.operations import pageable
from doorward_openapi.wire import paths, steering

_NO_URL = re.compile(r"[\x00-\x1f\x7f\\]")
_ABSOLUTE = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:|[/?]")
_SAFE = "!#$%&'()*+,/:;=?@[]~"


class LinkRefused(Exception):
    """A link is not followed, and why."""


async def paged(further: Further, at: str, reply: Reply, size: int) -> Reply:
    """A reply of `size` bytes, with what is known about the next page. `at` is the URL that the answer came from."""
    call, data = further.call, further.call.function.data
    find = partial(pages.following, call.function, call.arguments, reply.headers, reply.value, by_link=bool(call.link))
    told = await aside(find, size)
    reply = replace(reply, items=pageable.keys(reply.value, data["pages"]["items"])) if "pages" in data else reply
    if not told.link and told.arguments is None and not told.left:
        return reply
    if not told.link:
        return replace(reply, next=told.arguments, left=told.left) if told.arguments or told.left else reply
    try:
        url = followed(told.link, at, further.made, further.base, data)
        if not url:
            return reply
        if why := await further.refusal("GET", url, page=True):
            raise LinkRefused(f"its link leads to what may not be called: {why}")
    except LinkRefused as why:
        return replace(reply, next=told.arguments, left="" if told.arguments else str(why))
    return replace(reply, next=call.arguments, link=url)


def followed(link: str, at: str, request: Request, base: str, data: Mapping[str, Any]) -> str:
    """The URL to which a link in the answer from `at` leads, for the call that made `request`; "" if it
    leads back to the same page.

    Raises: LinkRefused.
    """
    if data["method"] not in ("GET", "POST"):
        raise LinkRefused(f"its link is to be got, and this is a {data['method']}")
    if len(link) > MAX_LINK_CHARS or _NO_URL.search(link):
        raise LinkRefused("its link is no plain URL")
    plan: Mapping[str, Any] = data.get("pages", {})
    operation: Mapping[str, Any] = plan.get("operation", {})
    try:
        if operation and not _ABSOLUTE.match(link):
            link = _filled(operation["path"], link, data["path"], request.path, base)
        url = _address(link.strip(), at, base)
        path = urlsplit(url).path.removeprefix(urlsplit(base).path.rstrip("/"))
        if paths.leads_away(path):
            raise LinkRefused("its link has a part that is `.` or `..`")
        if not plan and not _is_there(path, f"/{request.path.removeprefix('/')}", data["path"]):
            raise LinkRefused(f"its link leads to {shown(url)[:200]}, which is not below {data['path'][:200]}")
        query = _query(urlsplit(url).query, request, data, operation.get("query", ()))
        if data["method"] != "GET" and (added := _added(query, request, data)):
            raise LinkRefused(f"its link sets {added[:100]}, which the call did not")
    except ValueError:
        raise LinkRefused("its link is no plain URL") from None
    url = url.partition("?")[0] + (f"?{query}" if query else "")
    return "" if _same(url, at) else url


def page_request(made: Request, url: str) -> Request:
    """The request for a further page of a call, by its link."""
    headers = {name: value for name, value in made.headers.items() if name.lower() != "content-type"}
    return replace(made, method="GET", url=url, headers=headers, content=None)


def _address(link: str, at: str, base: str) -> str:
    """The link as a URL below the API's base. Raises: LinkRefused, ValueError."""
    prefix = urlsplit(base).path.rstrip("/")
    url = urljoin(at, quote(link, safe=_SAFE)).partition("#")[0]
    parts = urlsplit(url)
    if parts.scheme == "http" and parts.port is None and same_origin(f"https{url[4:]}", base):
        url = f"https{url[4:]}"  # a server behind a proxy does not know by which scheme it was reached
    if "@" in parts.netloc or origin(url) != origin(base):
        raise LinkRefused(f"its link leads to {shown(url)[:200]}, which is not the API's")
    if not parts.path.startswith(f"{prefix}/") and link.startswith("/") and not link.startswith("//"):
        url = urljoin(base, prefix + quote(link, safe=_SAFE)).partition("#")[0]  # nor below which path
    if not urlsplit(url).path.startswith(f"{prefix}/"):
        raise LinkRefused(f"its link leads to {shown(url)[:200]}, which is not below {shown(base)}")
    return url


def _is_there(path: str, sent: str, template: str) -> bool:
    """Whether a path is that of the call, below it, or differs only in the page number or
    page token that it contains."""
    to, here = _plain(path), _plain(sent)
    if to == here or (here and to.startswith(f"{here}/")):
        return True
    names = paths.TEMPLATE.findall(template)
    before, after = _values(template, sent), _values(template, path)
    if not names or before is None or after is None:
        return False
    return all(turns(name) or one == other for name, one, other in zip(names, before, after, strict=True))


def _values(template: str, path: str) -> list[str] | None:
    """The values that a path has for the variables of its template; none if one part of the template has two of them,
    for matching those takes time that grows with a power of the length."""
    literals = paths.TEMPLATE.split(template.partition("?")[0])
    if any("/" not in between for between in literals[2:-1:2]):
        return None
    pattern = "".join(
        "([^/]+)" if n % 2 else re.escape(quote(part, safe="!$&'()*+,;=:@%~/")) for n, part in enumerate(literals)
    )
    found = re.fullmatch(pattern, path)
    return [unquote(value) for value in found.groups()] if found else None


def _filled(template: str, link: str, own_template: str, sent: str, base: str) -> str:
    """The path of the operation that gets the next page: its variables take their values from the call, and the one
    that the call does not have takes the link."""
    known = dict(zip(paths.TEMPLATE.findall(own_template), _values(own_template, sent) or (), strict=False))
    missing = [name for name in paths.TEMPLATE.findall(template) if name not in known]
    if len(missing) != 1:
        return link
    path = paths.TEMPLATE.sub(
        lambda found: link if found[1] == missing[0] else quote(known[found[1]], safe=""), template
    )
    return base.rstrip("/") + path


def _query(query: str, request: Request, data: Mapping[str, Any], more: Any) -> str:
    """The query of a link, with the program's own values for everything but the parameters that turn pages. If the
    document declares the link, the query stays as it is, and only the API version is added, which such links may lack.
    `more` are names that the call for the next page has in addition.

    Raises: LinkRefused.
    """
    sent = [piece for piece in urlsplit(request.url).query.split("&") if piece]
    query = query.replace(";", "%3B")  # some servers take it for a separator, others do not
    pieces = [piece for piece in query.split("&") if piece]
    try:
        steering.check(steering.names(query.replace("%3B", "&")))
    except InvalidArguments as error:
        raise LinkRefused(f"its link cannot be followed: {error}") from None
    given, there = ({_name(piece) for piece in some} for some in (sent, pieces))
    again = {
        _known(name) for name, _ in parse_qsl(data["path"].partition("?")[2], keep_blank_values=True)
    }  # fixed in the path template itself
    again |= {_known(name) for name in more} - there
    if "pages" in data:
        versions = {name for name in given | there if plain(name) == "apiversion"}
        again |= versions if versions & given else set()
    else:
        again |= {name for name in given & there if not turns(name)}
    return "&".join(
        [piece for piece in pieces if _name(piece) not in again] + [piece for piece in sent if _name(piece) in again]
    )


def _added(query: str, request: Request, data: Mapping[str, Any]) -> str:
    """A parameter of the function that a query has and the call had not, and that turns no page."""
    own = {_known(wire["name"]) for wire in data.get("arguments", ()) if wire["in"] == "query"}
    given = {_name(piece) for piece in urlsplit(request.url).query.split("&")}
    names = (_name(piece) for piece in query.split("&"))
    return next((name for name in names if name in own - given and not turns(name)), "")


def _name(piece: str) -> str:
    return _known(unquote_plus(piece.partition("=")[0]))


def _known(name: str) -> str:
    """A name as lenient servers read it: those that ignore case, strip list brackets, or stop at a null character."""
    return name.partition("\0")[0].strip().removesuffix("[]").casefold()


def _plain(path: str) -> str:
    return unquote(path).rstrip("/")


def _same(one: str, other: str) -> bool:
    (a, b), (c, d) = ((_plain(urlsplit(url).path), sorted(parse_qsl(urlsplit(url).query))) for url in (one, other))
    return a == c and b == d
