"""What messengers are sent of a request: all that the console shows, as plain text that nothing takes for markup."""

from __future__ import annotations

from collections.abc import Iterator
from email.message import EmailMessage
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from doorward_approvals import ApprovalRequest

    from doorward_notify.settings import MessengerSettings

_BLOCK_CHARACTERS, _BLOCKS = 2900, 40
"""Characters of one block of Slack, and blocks of one message."""

_TEAMS_BYTES = 20_000
"""Bytes of all texts in a card of Teams, which takes 28 KB."""


def title(request: ApprovalRequest) -> str:
    """What is wanted, in a line."""
    said = " ".join(f"{request.principal} wants to {request.wants} ({request.effect})".split())[:200]
    return said.encode(errors="replace").decode()


def link(request: ApprovalRequest, settings: MessengerSettings) -> str:
    """Where the request is shown and answered; empty without a console."""
    return f"{settings.console.rstrip('/')}/approvals/{request.id}" if settings.console else ""


def parts(request: ApprovalRequest) -> Iterator[tuple[str, str]]:
    """Headings, and the texts below them, in which half a character of UTF-16 is a question mark."""
    for heading, text in _parts(request):
        yield heading, text.encode(errors="replace").decode()


def _parts(request: ApprovalRequest) -> Iterator[tuple[str, str]]:
    yield "Arguments", request.arguments
    if why := ": ".join(filter(None, (request.rule, request.reason))):
        yield "Asked because of", why
    if request.lines:
        yield "The lines of the program that name it", "\n".join(request.lines)
    yield "Run", request.run


def for_webhook(request: ApprovalRequest, settings: MessengerSettings) -> dict[str, Any]:
    """The message of a generic webhook."""
    names = "id function effect arguments principal run rule reason lines created expires kind"
    shown = {name: getattr(request, name) for name in names.split()}
    return {"type": "approval.wanted", "title": title(request), "link": link(request, settings), "request": shown}


def for_slack(request: ApprovalRequest, settings: MessengerSettings) -> dict[str, Any]:
    """Blocks of plain text: no argument can ping, link or format anything."""
    pieces = []
    for heading, text in parts(request):
        whole = f"{heading}:\n{text}"
        pieces += [whole[at : at + _BLOCK_CHARACTERS] for at in range(0, len(whole), _BLOCK_CHARACTERS)]
    if len(pieces) > _BLOCKS:
        pieces = [*pieces[: _BLOCKS - 1], "… NOT shown whole here"]
    blocks: list[dict[str, Any]] = [{"type": "header", "text": _plain(title(request)[:150])}]
    blocks += [{"type": "section", "text": _plain(piece)} for piece in pieces]
    buttons: list[dict[str, Any]] = []
    if settings.people:
        for word, style in (("approve", "primary"), ("deny", "danger")):
            shown = _plain(word.capitalize())
            buttons.append({"type": "button", "text": shown, "action_id": word, "value": request.id, "style": style})
    if where := link(request, settings):
        buttons.append({"type": "button", "text": _plain("Answer in the console"), "url": where})
    if buttons:
        blocks.append({"type": "actions", "elements": buttons})
    return {"text": _escaped(title(request)), "blocks": blocks}


def note(text: str, settings: MessengerSettings) -> dict[str, Any]:
    """A line without markup, for Slack or Teams."""
    if settings.kind == "slack":
        return {"text": _escaped(text)}
    return _card({"type": "AdaptiveCard", "version": "1.4", "body": [_runs(text)]})


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _card(card: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "message",
        "attachments": [{"contentType": "application/vnd.microsoft.card.adaptive", "content": card}],
    }


def for_teams(request: ApprovalRequest, settings: MessengerSettings) -> dict[str, Any]:
    """An adaptive card of text runs, which know no markup."""
    body: list[dict[str, Any]] = [_runs(title(request), weight="Bolder")]
    left = _TEAMS_BYTES
    for heading, text in parts(request):
        shown, left = _cut(text, left), max(left - len(text.encode()), 0)
        body += [_runs(heading, weight="Bolder"), _runs(shown, fontType="Monospace")]
    if settings.people:
        body.append(_runs(f"Answer here, to the outgoing webhook: approve {request.id}, or: deny {request.id}"))
    card: dict[str, Any] = {"type": "AdaptiveCard", "version": "1.4", "body": body}
    if where := link(request, settings):
        card["actions"] = [{"type": "Action.OpenUrl", "title": "Answer in the console", "url": where}]
    return _card(card)


def for_email(request: ApprovalRequest, settings: MessengerSettings) -> EmailMessage:
    """A mail of plain text."""
    mail = EmailMessage()
    mail["Subject"], mail["From"], mail["To"] = title(request), settings.sender, ", ".join(settings.to)
    where = link(request, settings) or f"Answer it: doorward approvals show {request.id}"
    texts = [title(request), *(f"{heading}:\n{text}" for heading, text in parts(request)), where]
    mail.set_content("\n\n".join(texts) + "\n")
    return mail


def _cut(text: str, most: int) -> str:
    whole = text.encode()
    return text if len(whole) <= most else f"{whole[:most].decode(errors='ignore')}\n… NOT shown whole here"


def _plain(text: str) -> dict[str, Any]:
    return {"type": "plain_text", "text": text, "emoji": False}


def _runs(text: str, **style: str) -> dict[str, Any]:
    return {"type": "RichTextBlock", "inlines": [{"type": "TextRun", "text": text, **style}]}
