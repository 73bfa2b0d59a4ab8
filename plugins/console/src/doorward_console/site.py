"""The pages as an ASGI application: who may come in, and which page answers."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from doorward import LOCAL, DoorwardError, File, InvalidArguments, Principal, Refused, StateError, UnknownName
from doorward.serving import PRINCIPAL, VERIFY_TOKEN, RawSite
from doorward.values import is_loopback
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, RedirectResponse, Response

from doorward_console.logins import Logins
from doorward_console.oauth import LOGIN_SECONDS, SESSION_SECONDS, OAuthSignIn
from doorward_console.pages import Pages
from doorward_console.panel import Found, Moved, Panel, Question
from doorward_console.panels import PANELS
from doorward_console.services import service_key
from doorward_console.sessions import Session, Sessions, is_forged
from doorward_console.stored_sessions import StoredSessions
from doorward_console.visitor import Visitor

if TYPE_CHECKING:
    from doorward import Gateway
    from starlette.types import Receive, Scope, Send

    from doorward_console.compile_changes import CompileChanges
    from doorward_console.recent import Recent
    from doorward_console.settings import ConsoleSettings

ROOT = "/console"
COOKIE = "doorward_console"
OAUTH_COOKIE = "doorward_console_oauth"

MAX_FORM_BYTES = 64 * 2**10
"""Largest form."""

_HEADERS = {
    "Content-Security-Policy": "default-src 'self'; frame-ancestors 'none'; form-action 'self'; base-uri 'none'; "
    "object-src 'none'",
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-store",
}
_OURS = re.compile(rf"{ROOT}(?:/[A-Za-z0-9_-][A-Za-z0-9_.-]*)*")
"""A path that we may send somebody to: nobody else's host can be written so."""


class Site:
    """The console of a gateway. `is_operator` says which principals are operators."""

    def __init__(
        self,
        gateway: Gateway,
        settings: ConsoleSettings,
        is_operator: Callable[[str], bool],
        recent: Recent,
        compiles: CompileChanges,
    ) -> None:
        self._gateway, self._settings, self._is_operator, self._recent = gateway, settings, is_operator, recent
        self._logins, self._compiles = Logins(gateway), compiles
        self._sessions = Sessions(settings.hours * 3600)
        self._stored = StoredSessions.of(gateway)
        server = getattr(gateway.config, "http", None)
        issuer = getattr(getattr(server, "oauth", None), "issuer", "")
        self._oauth = OAuthSignIn(settings.oauth, issuer) if settings.oauth is not None and issuer else None

    @cached_property
    def panels(self) -> dict[str, Panel]:
        """All panels by their names, in order. Ours win."""
        added = [panel for answer in self._gateway.plugins.each("console_panels", list) for panel in answer]
        named: dict[str, Panel] = {}
        for panel in (*PANELS, *added):
            named.setdefault(panel.name, panel)
        return dict(sorted(named.items(), key=lambda each: each[1].order))

    @cached_property
    def _pages(self) -> Pages:
        return Pages({panel.package for panel in self.panels.values()})

    def opened(self, url: str) -> str:
        """The line for whoever has started the server: where the pages are, with a link if one is wanted."""
        if not self._settings.link or not is_loopback(urlsplit(url).hostname or ""):
            return f"Console at {url}"
        link = self._sessions.new_link() if self._stored is None else self._stored.new_link()
        return f"Console at {url}; this link works once: {url}/enter?link={link}"

    @property
    def is_shared(self) -> bool:
        """Whether other processes know who is signed in here."""
        return self._stored is not None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        try:
            response = await self._answer(request)
        except ClientDisconnect:
            return
        for name, value in _HEADERS.items():
            response.headers.setdefault(name, value)
        await response(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        path = request.scope["path"].removeprefix(ROOT).strip("/")
        if request.method not in ("GET", "HEAD", "POST"):
            return Response("Method Not Allowed", 405, {"Allow": "GET, HEAD, POST"})
        if path.startswith("static/") and request.method != "POST":
            return self._pages.static(path.removeprefix("static/"))
        if request.method == "POST" and not _same_origin(request):
            return self._error("This form was sent by another site.", 403)
        form = await _form(request) if request.method == "POST" else {}
        if form is None:
            return self._error("This form is too large.", 413)
        if path in ("enter", "sign-in"):
            return await self._sign_in(request, path, form)
        if path in ("oauth", "callback") and request.method == "GET" and self._oauth is not None:
            return await self._sign_in_there(request, self._oauth, path)
        session, visitor = await self._visitor(request)
        if visitor is None:
            return self._unknown(request, path)
        if request.method == "POST":
            if session is not None and is_forged(session, form.get("forgery", "")):
                return self._error("This form is not from a page of yours, or you have signed in anew.", 403)
            if path == "sign-out":
                await self._end(request.cookies.get(COOKIE, ""))
                return _moved(f"{ROOT}/sign-in")
        return await self._page(request, path, session, visitor, form)

    async def _sign_in(self, request: Request, path: str, form: Mapping[str, str]) -> Response:
        """A link is used by a form, not by being opened: what looks at links beforehand does not use it up."""
        onward = _onward(form.get("next") or request.query_params.get("next", ""))
        if request.method != "POST":
            link = request.query_params.get("link", "") if path == "enter" else ""
            signed_in = (await self._visitor(request))[1] is not None
            shown = {"link": link, "onward": onward, "wrong": "", "signed_in": signed_in, "issuer": self._issuer}
            return self._pages.page("doorward_console/sign_in.html", shown)
        token = form.get("token", "").strip()
        principal: Principal | None = None
        if path == "enter":
            uses = self._sessions.use_link if self._stored is None else self._stored.use_link
            is_good = uses(form.get("link", ""))
            principal = Principal(LOCAL) if (is_good if isinstance(is_good, bool) else await is_good) else None
        elif token:
            try:
                principal = await request.scope[VERIFY_TOKEN](token)
            except Exception as error:  # the issuer's keys cannot be had
                return self._error(f"Nobody can tell now whether this token is good: {error}", 503)
        if principal is None:
            wrong = "This link was used, or is too old." if path == "enter" else "This token is not good."
            shown = {"link": "", "onward": onward, "wrong": wrong, "signed_in": False, "issuer": self._issuer}
            return self._pages.page("doorward_console/sign_in.html", shown, 403)
        return await self._signed_in(request, _moved(onward), principal, token)

    async def _sign_in_there(self, request: Request, there: OAuthSignIn, path: str) -> Response:
        """Sign in at the authorization server: go there, or come back. A browser sends no cookie of ours that is strict
        when another site leads it here, so that it comes in by a page that leads on."""
        redirect_uri = f"{self._origin(request)}{ROOT}/callback"
        about: dict[str, Any] = {
            "path": f"{ROOT}/callback", "httponly": True, "samesite": "lax", "secure": self._is_secure(request),
        }  # fmt: skip
        try:
            if path == "oauth":
                page, kept = await there.begin(redirect_uri, _onward(request.query_params.get("next", "")))
                response = _moved(page)
                response.set_cookie(OAUTH_COOKIE, kept, max_age=LOGIN_SECONDS, **about)
                return response
            cookie = request.cookies.get(OAUTH_COOKIE, "")
            found = await there.finish(cookie, dict(request.query_params), redirect_uri)
            principal = await request.scope[VERIFY_TOKEN](found.token)
        except Refused as refused:
            return self._error(f"You are not signed in: {refused}.", 403)
        except Exception as error:  # it, or its keys, cannot be had
            return self._error(f"Nobody can sign in there now: {error}", 503)
        if principal is None or (self._subject_is_name and found.subject not in ("", str(principal))):
            return self._error("You are not signed in: the token is not for this server.", 403)
        onward = _onward(found.onward)
        shown = self._pages.page("doorward_console/signed_in.html", {"onward": onward})
        response = await self._signed_in(request, shown, principal, "", SESSION_SECONDS)
        response.delete_cookie(OAUTH_COOKIE, **about)
        return response

    async def _signed_in(
        self, request: Request, response: Response, principal: Principal, token: str, seconds: float | None = None
    ) -> Response:
        """Begin a session in place of the one that the browser had, and give it to the browser."""
        await self._end(request.cookies.get(COOKIE, ""))
        response.set_cookie(
            COOKIE, await self._begin(principal, token, seconds), path=ROOT, httponly=True, samesite="strict",
            secure=self._is_secure(request), max_age=int(min(self._settings.hours * 3600, seconds or float("inf"))),
        )  # fmt: skip
        return response

    @property
    def _issuer(self) -> str:
        """Where one can sign in, too."""
        return urlsplit(self._oauth.issuer).hostname or "" if self._oauth is not None else ""

    @property
    def _subject_is_name(self) -> bool:
        oauth = getattr(getattr(self._gateway.config, "http", None), "oauth", None)
        return getattr(oauth, "principal", "sub") == "sub"

    def _origin(self, request: Request) -> str:
        """Where people reach this server."""
        url = urlsplit(getattr(getattr(self._gateway.config, "http", None), "url", None) or str(request.base_url))
        return f"{url.scheme}://{url.netloc}"

    async def _visitor(self, request: Request) -> tuple[Session | None, Visitor | None]:
        """Who asks: whose token is in the header, or who is signed in; a revoked token ends its sessions."""
        if PRINCIPAL in request.scope:
            return None, self._known(request.scope[PRINCIPAL])
        session = await self._find(id := request.cookies.get(COOKIE, ""))
        if session is None:
            return None, None
        principal = session.principal
        if session.token:
            with contextlib.suppress(Exception):  # an issuer that is away for a moment ends no session
                principal = await request.scope[VERIFY_TOKEN](session.token)
            if principal != session.principal:
                await self._end(id)
                return None, None
        return session, self._known(principal)

    async def _begin(self, principal: Principal, token: str, seconds: float | None = None) -> str:
        id = self._sessions.new(principal, token, seconds)
        ended, self._sessions.ended = self._sessions.ended, []
        if self._stored is not None and (session := self._sessions.find(id)) is not None:
            await self._stored.put(id, session, self._sessions.left(session), ended)
        return id

    async def _find(self, id: str) -> Session | None:
        """The session of an id, as this process knows it, if it has not ended in another one; or as it is stored."""
        known = self._sessions.find(id)
        if self._stored is None or not id:
            return known
        try:
            if known is None:
                found = await self._stored.get(id)
                return self._sessions.adopt(id, *found) if found is not None else None
            if await self._stored.lives(id):
                return known
        except StateError:  # while the store is out of reach, nobody who could be signed out is let in
            return None
        self._sessions.end(id)
        return None

    async def _end(self, id: str) -> None:
        self._sessions.end(id)
        if self._stored is not None and id:
            await self._stored.end(id)

    def _known(self, principal: Principal) -> Visitor:
        is_local = principal == LOCAL
        is_operator = is_local or (bool(self._settings.operators) and self._is_operator(str(principal)))
        by = "the console's operator" if is_local else str(principal)
        return Visitor(principal, is_operator, is_operator or self._settings.self_approval, by)

    def _unknown(self, request: Request, path: str) -> Response:
        if path.endswith(".json"):
            return JSONResponse({"error": "sign in, or bring a token"}, 401, {"WWW-Authenticate": "Bearer"})
        if request.method == "POST":
            return self._error("You are not signed in any more. Nothing was done.", 401)
        onward = quote(_onward(request.scope["path"]), safe="/")
        return _moved(f"{ROOT}/sign-in" + (f"?next={onward}" if onward != ROOT else ""))

    async def _page(
        self, request: Request, path: str, session: Session | None, visitor: Visitor, form: Mapping[str, str]
    ) -> Response:
        as_json = path.endswith(".json")
        name, _, rest = path.removesuffix(".json").partition("/")
        offered = [*self._offered(visitor)]
        panel = self.panels.get(name) if name else next(iter(offered), None)
        status, notice = 200, request.query_params.get("said", "") if session is not None else ""
        try:
            if panel is None or (panel.operators and not visitor.is_operator):
                raise UnknownName("there is no such page")
            _require(panel, self._gateway)
            question = Question(
                self._gateway, visitor, self._recent, self._logins, self._compiles, rest.strip("/"),
                dict(request.query_params), form,
            )  # fmt: skip
            if request.method == "POST":
                if panel.post is None:
                    raise InvalidArguments("nothing can be sent to this page")
                answered = await panel.post(question)
                if isinstance(answered, Moved):
                    return _after(answered, as_json=as_json)
                found = answered
            elif isinstance(seen := await panel.view(question), File):
                return _file(seen)
            else:
                found = seen
        except DoorwardError as error:
            status = 404 if isinstance(error, UnknownName) else 400
            found = Found({"error": str(error), "hint": error.hint or ""}, "doorward_console/error.html")
        if as_json:
            return JSONResponse(dict(found.data), status)
        template = found.template or (f"{panel.package}/{panel.template}" if panel else "")
        told = _NOTICES.get(notice, "")
        about = {
            "panels": offered, "panel": panel, "visitor": visitor, "live": found.live, "notice": told,
            "forgery": session.forgery if session else "", "path": request.scope["path"],
            "json": f"{ROOT}/{panel.name}{f'/{rest}' if rest else ''}.json" if panel and status == 200 else "",
            "query": urlencode({key: value for key, value in request.query_params.items() if key != "said"}),
        }  # fmt: skip
        return self._pages.page(template, {**found.data, **about}, status)

    def _offered(self, visitor: Visitor) -> Iterator[Panel]:
        for panel in self.panels.values():
            if visitor.is_operator or not panel.operators:
                with contextlib.suppress(DoorwardError):
                    _require(panel, self._gateway)
                    yield panel

    def _error(self, why: str, status: int) -> Response:
        return self._pages.page("doorward_console/error.html", {"error": why, "hint": ""}, status)

    def _is_secure(self, request: Request) -> bool:
        url = getattr(getattr(self._gateway.config, "http", None), "url", None) or ""
        return request.url.scheme == "https" or url.startswith("https://")


IMAGES = ("image/png", "image/jpeg", "image/gif", "image/webp")
"""Types of files that are shown on pages: none of them holds scripts."""

_NOTICES = {
    "approved": "You said yes. Whoever waits goes on.",
    "always": "You said yes, and the rule is written: it holds from the next start.",
    "denied": "You said no. The program is told so.",
    "accepted": "Agents see the function as it is now.",
    "refused": "Agents go on seeing the function as it was reviewed.",
    "saved": "It is saved: agents find it by search, and run it by its name.",
    "resumed": "The run goes on.",
    "cancelled": "The run is given up.",
    "undoing": "What it wrote is being undone, by calls that are decided as all others are.",
}
"""What is said after a form, by a word: no address makes a page say anything else."""


def site_of(site: Site) -> RawSite:
    """The site as the HTTP transport takes it."""
    return RawSite(ROOT, site, site.opened, site.is_shared)


def _require(panel: Panel, gateway: Gateway) -> None:
    """Raises: DoorwardError, which says what to install, if what a page shows is not in use."""
    if not panel.needs:
        return
    key = service_key(panel.needs)
    if key is None or gateway.services.get(key) is None:
        brings = key.distribution if key else panel.needs.partition(":")[0].replace("_", "-")
        raise UnknownName(
            f"there is nothing for the page {panel.title!r} to show: {key.name if key else brings} is not in use",
            hint=f"`pip install {brings}` brings it; `plugins` of the configuration names it.",
        )


def _moved(url: str) -> Response:
    return RedirectResponse(url, 303)


def _after(moved: Moved, *, as_json: bool) -> Response:
    """What answers a form that was taken."""
    if as_json:
        return JSONResponse({"done": moved.notice, "at": f"{ROOT}/{moved.path}".rstrip("/")})
    said = f"?said={quote(moved.notice)}" if moved.notice else ""
    return _moved(_onward(f"{ROOT}/{moved.path}".rstrip("/")) + said)


def _file(file: File) -> Response:
    """A file that a run left. A browser shows it if it is an image of pixels, and stores anything else."""
    if file.type in IMAGES:
        return Response(file.content, media_type=file.type)
    headers = {"Content-Disposition": f"attachment; filename*=UTF-8''{quote(file.name or 'file', safe='')}"}
    return Response(file.content, media_type="application/octet-stream", headers=headers)


def _onward(path: str) -> str:
    """A path of ours to go to; the first page in place of any other."""
    return path if _OURS.fullmatch(path) else ROOT


def _same_origin(request: Request) -> bool:
    """Whether a form comes from a page of ours, as far as the browser says. A program that is no browser says
    nothing."""
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        return False
    origin = request.headers.get("origin")
    return origin is None or urlsplit(origin).netloc.lower() == request.headers.get("host", "").lower()


async def _form(request: Request) -> dict[str, str] | None:
    """The fields of a form; `None` if it is too large."""
    content = bytearray()
    async for piece in request.stream():
        content += piece
        if len(content) > MAX_FORM_BYTES:
            return None
    with contextlib.suppress(ValueError):
        return dict(parse_qsl(content.decode(errors="replace"), keep_blank_values=True, max_num_fields=100))
    return {}
