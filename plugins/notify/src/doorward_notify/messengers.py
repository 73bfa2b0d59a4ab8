"""Sends a request to a messenger, when it is time."""

from __future__ import annotations

import base64
import binascii
import json
import secrets
import smtplib
import ssl
import time
from asyncio import sleep
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

import anyio.to_thread
import httpx2
from doorward import ConfigError, StateError, log
from doorward.values import is_loopback
from doorward_auth_kit import key_of, signed

from doorward_notify import messages

if TYPE_CHECKING:
    from doorward_approvals import ApprovalRequest, Requests

    from doorward_notify.settings import MessengerSettings

SECONDS = 10.0
"""Seconds that a messenger may take."""

_WAITS = (1.0, 5.0, 30.0)
"""Seconds between attempts."""


def quiet_seconds(settings: MessengerSettings, now: datetime) -> float:
    """Seconds until the quiet hours are over; 0 outside of them."""
    if not settings.quiet:
        return 0.0
    here = now.astimezone(ZoneInfo(settings.zone))
    begin, end = (datetime.strptime(part, "%H:%M").time() for part in settings.quiet.split("-"))
    clock = here.time()
    inside = begin <= clock < end if begin <= end else clock >= begin or clock < end
    if not inside:
        return 0.0
    until = here.replace(hour=end.hour, minute=end.minute, second=0, microsecond=0)
    until += timedelta(days=1) if until <= here else timedelta()
    return until.timestamp() - here.timestamp()


class Messenger:
    """One `[notify.NAME]`. Raises: ConfigError, MissingSecret."""

    def __init__(self, name: str, settings: MessengerSettings, fits: Callable[[str], bool]) -> None:
        self.name, self.settings, self.fits = name, settings, fits
        place = f"[notify.{name}]"
        self._url = settings.url.reveal() if settings.url else ""
        parts = urlsplit(self._url)
        if self._url and parts.scheme != "https" and not (parts.scheme == "http" and is_loopback(parts.hostname or "")):
            raise ConfigError("must be an https URL: it gets what people approve of", place=f"{place} url")
        self.key = key_of(settings.secret, f"{place} secret") if settings.secret else b""
        if self.key and settings.kind == "teams":
            try:
                self.key = base64.b64decode(self.key, validate=True)
            except binascii.Error:
                hint = "Take the security token as Teams shows it."
                raise ConfigError("the token of Teams is base64", place=f"{place} secret", hint=hint) from None

    async def tell(self, request: ApprovalRequest, requests: Requests) -> None:
        """Tell of a request that is still open when it is time."""
        after = self.settings.after
        wait = after + quiet_seconds(self.settings, datetime.fromtimestamp(time.time() + after, UTC))
        if wait:
            await sleep(wait)
        for left, pause in zip(range(len(_WAITS), -1, -1), (*_WAITS, 0.0), strict=True):
            try:
                found = await requests.found(request.id)
                if found is None or found.state != "open":
                    return
                await self._send(request)
            except (httpx2.HTTPError, OSError, smtplib.SMTPException, StateError) as error:  # it may quote the URL
                log.warning("not_notified", messenger=self.name, id=request.id, why=type(error).__name__, left=left)
                await sleep(pause)
            else:
                log.info("notified", messenger=self.name, id=request.id)
                return

    async def _send(self, request: ApprovalRequest) -> None:
        if self.settings.kind == "email":
            await anyio.to_thread.run_sync(self._mail, request)
            return
        form = {"webhook": messages.for_webhook, "slack": messages.for_slack, "teams": messages.for_teams}
        shown = form[self.settings.kind](request, self.settings)
        body = json.dumps(shown, ensure_ascii=False).encode(errors="replace")
        headers = {"Content-Type": "application/json"}
        if self.settings.kind == "webhook":
            headers |= signed(self.key, f"msg_{secrets.token_hex(12)}", time.time(), body)
        async with httpx2.AsyncClient(timeout=SECONDS, follow_redirects=False, trust_env=False) as client:
            (await client.post(self._url, content=body, headers=headers)).raise_for_status()

    async def say(self, text: str) -> None:
        """Tell those who read here what has become of a request, once."""
        try:
            async with httpx2.AsyncClient(timeout=SECONDS, follow_redirects=False, trust_env=False) as client:
                (await client.post(self._url, json=messages.note(text, self.settings))).raise_for_status()
        except (httpx2.HTTPError, OSError) as error:
            log.warning("not_notified", messenger=self.name, why=type(error).__name__)

    def _mail(self, request: ApprovalRequest) -> None:
        settings, context = self.settings, ssl.create_default_context()
        if settings.tls == "implicit":
            server: smtplib.SMTP = smtplib.SMTP_SSL(settings.host, settings.port, timeout=SECONDS, context=context)
        else:
            server = smtplib.SMTP(settings.host, settings.port, timeout=SECONDS)
        with server:
            if settings.tls == "starttls":
                server.starttls(context=context)
            if settings.user and settings.password is not None:
                server.login(settings.user, settings.password.reveal())
            server.send_message(messages.for_email(request, settings))
