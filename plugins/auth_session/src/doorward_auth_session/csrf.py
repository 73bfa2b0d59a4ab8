"""The CSRF token: taken from where frameworks put it, and sent back to where they look for it."""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING
from urllib.parse import unquote

from doorward_auth_session.answers import dig, told

if TYPE_CHECKING:
    import httpx2

    from doorward_auth_session.cookies import Cookies
    from doorward_auth_session.settings import SessionSettings

USUAL = {
    "csrfmiddlewaretoken": "X-CSRFToken",  # Django: form field, cookie
    "csrftoken": "X-CSRFToken",
    "XSRF-TOKEN": "X-XSRF-TOKEN",  # Laravel, Spring, Angular: cookie
    "_token": "X-CSRF-TOKEN",  # Laravel: form field
    "authenticity_token": "X-CSRF-Token",  # Rails: form field
    "csrf-token": "X-CSRF-Token",  # Rails, Laravel: meta tag
    "_csrf": "X-CSRF-TOKEN",  # Spring: form field, meta tag
    "csrf_token": "X-CSRF-Token",  # Flask: form field
    "csrfToken": "X-CSRF-Token",
    "X-CSRF-Token": "X-CSRF-Token",  # a header of the answer
    "__RequestVerificationToken": "RequestVerificationToken",  # ASP.NET: form field
}
"""The names that the usual frameworks give it, and the header in which each expects it back."""
SAFE = ("GET", "HEAD", "OPTIONS", "TRACE")
"""Methods that change nothing (RFC 9110 section 9.2.1): they carry no token."""
_TAG = re.compile(r"<(?:input|meta)\b([^<>]{1,4000})>", re.IGNORECASE)
_ATTRIBUTE = re.compile(r"""([\w-]{1,40})\s{0,9}=\s{0,9}(?:"([^"]*)"|'([^']*)'|([^\s"'=`]+))""")


class Csrf:
    """The current token: one in a cookie may change with every answer."""

    def __init__(self, settings: SessionSettings) -> None:
        self._names = [settings.csrf_name] if settings.csrf_name else list(USUAL)
        self._header = settings.csrf_header
        self._cookie = ""
        self._found = ("", "")
        self.field: dict[str, str] = {}

    def look(self, response: httpx2.Response, cookies: Cookies) -> bool:
        """Look for a token in an answer (a form, a meta tag, a JSON member or a header) or among the cookies.
        Returns: whether there is one."""
        fields, metas, content = inputs(response), inputs(response, "meta"), told(response)
        self.field = next(({name: fields[name]} for name in self._names if fields.get(name)), self.field)
        values = ((n, fields.get(n) or metas.get(n) or dig(content, n) or response.headers.get(n)) for n in self._names)
        found = next(((name, value) for name, value in values if isinstance(value, str) and _sendable(value)), None)
        self._found = found or self._found
        self._cookie = next((name for name in self._names if cookies.get(name)), self._cookie)
        return found is not None or bool(self._cookie)

    def names(self) -> set[str]:
        """The names of cookies that are such tokens, and therefore not the session."""
        return {self._cookie} if self._cookie else set()

    def put(self, request: httpx2.Request, cookies: Cookies, page: httpx2.URL) -> None:
        """Add the token to a request that may change something, with the Referer, which Django demands over TLS."""
        name, value = self._now(cookies)
        if request.method in SAFE or not value:
            return
        request.headers[self._header or USUAL.get(name, "X-CSRF-Token")] = value
        at = page if page.origin == request.url.origin else request.url.copy_with(path="/")
        request.headers.setdefault("Referer", str(at.copy_with(query=None)))

    def values(self, cookies: Cookies) -> set[str]:
        """The values that must be scrubbed."""
        return {*self.field.values(), self._found[1], self._now(cookies)[1]} - {""}

    def _now(self, cookies: Cookies) -> tuple[str, str]:
        value = unquote(cookies.get(self._cookie) or "") if self._cookie else ""
        return (self._cookie, value) if _sendable(value) else self._found


def _sendable(value: str) -> bool:
    return bool(re.fullmatch(r"[\x21-\x7e]{1,4096}", value))


def inputs(response: httpx2.Response, tag: str = "input") -> dict[str, str]:
    """The values of a page's form fields (or the contents of its meta tags) by name. Tags are read one by one,
    since a page may be malformed."""
    if not response.headers.get("content-type", "").startswith(("text/html", "application/xhtml")):
        return {}
    found: dict[str, str] = {}
    for match in _TAG.finditer(response.text):
        if match[0][1 : len(tag) + 1].lower() == tag:
            given = {name.lower(): html.unescape(a or b or c) for name, a, b, c in _ATTRIBUTE.findall(match[1])}
            found.setdefault(given.get("name", ""), given.get("content" if tag == "meta" else "value", ""))
    return found
