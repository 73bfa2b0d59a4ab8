"""HTTP answers of a GraphQL server → the value of a field, or an error that says what is wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from doorward import ApiError, LimitExceeded, ServerError
from doorward.values import status
from doorward_http import error_text
from doorward_json import read_json, values_in

from doorward_graphql.client import Answer

_NOT_LOGGED_IN = ("UNAUTHENTICATED", "UNAUTHORIZED", "NOT_AUTHENTICATED", "AUTH_NOT_AUTHENTICATED")
_FORBIDDEN = ("FORBIDDEN", "ACCESS_DENIED", "AUTH_NOT_AUTHORIZED", "INSUFFICIENT_SCOPES")
_TOO_MANY = ("RATE_LIMITED", "RATELIMITED", "RATE_LIMIT_EXCEEDED", "THROTTLED", "TOO_MANY_REQUESTS")
_REGISTERED = ("PERSISTED_QUERY_NOT_FOUND", "PERSISTED_QUERY_NOT_IN_LIST", "PERSISTED_QUERY_REQUIRED")
_CHANGED = ("GRAPHQL_VALIDATION_FAILED",)
_MAX_VALUES = 1_000_000
"""Values in one answer: 50 MB of JSON can become several gigabytes of them."""

_MAX_ERRORS = 50
"""Errors of one answer that are read."""

_PASSING = (408, 425, 429, 502, 503, 504)
_MAY_BE_MADE = "Wait, look whether it was made all the same, and if not, make it again."
_ENDPOINT = "Is `url` the endpoint of a GraphQL API? Many are at /graphql."
_MISSING = "The credentials are missing, wrong or not enough: the operator sets `auth` of the server."
_HINTS: dict[tuple[str, ...], str] = {
    _REGISTERED: "This server answers registered documents only; no other client can use it.",
    _CHANGED: "The server's schema may have changed: it is compiled anew now. See get_functions.",
    ("COST_LIMIT_EXCEEDED", "MAX_COST_EXCEEDED", "QUERY_TOO_COMPLEX", "MAX_COMPLEXITY_EXCEEDED"): (
        "Ask for less: `select` fewer fields, or give `first` a smaller number."
    ),
}
"""What to do, by the `extensions.code` of errors as servers are used to write them."""


def data_of(what: str, answer: Answer, suggest: Callable[[], str] = str, *, changes: bool = False) -> dict[str, Any]:
    """The `data` of an answer without errors. `changes`: asking twice is not the same as asking once.

    Raises: ApiError for an answer with errors, whose `body` has them and whatever data there is; ServerError for
    what is no answer of a GraphQL server; LimitExceeded for one of too many values, which is not read.
    """
    if values_in(answer.body, _MAX_VALUES) > _MAX_VALUES:
        hint = "Ask for less: `select` fewer fields, or ask for pages."
        raise LimitExceeded(f"{what} answered more than {_MAX_VALUES:,} values", hint=hint)
    body = _read(answer)
    if isinstance(body, dict) and isinstance(errors := body.get("errors"), list) and errors:
        raise _failed(what, answer, errors, body, suggest)
    if answer.status >= 400:
        told = error_text(body)
        message = f"{what} answered {status(answer.status)}" + (f": {told}" if told else "")
        made = _MAY_BE_MADE if changes and answer.status in _PASSING else None
        raise _error(message, answer, body, made or _advice(answer, (), suggest))
    if 300 <= answer.status < 400:
        to = error_text(answer.headers.get("location", ""))
        hint = "Requests with credentials follow no redirect. If that is the endpoint, set `url` to it."
        raise ServerError(f"{what} redirects to {to}", hint=hint)
    if not isinstance(body, dict) or not isinstance(body.get("data"), dict):
        kind = answer.headers.get("content-type", "")[:100] or "no type"
        raise ServerError(f"{what} answered what is no GraphQL ({error_text(kind)})", hint=_ENDPOINT)
    return dict(body["data"])


def codes(error: Exception) -> set[str]:
    """The codes of the errors in an answer."""
    body = error.body if isinstance(error, ApiError) else None
    return set(_codes(body.get("errors"))) if isinstance(body, dict) else set()


def has_changed(error: Exception) -> bool:
    """Whether a server refused a document that was valid when its schema was read."""
    return not codes(error).isdisjoint(_CHANGED)


def lacks_credentials(error: Exception) -> bool:
    return isinstance(error, ApiError) and (error.status == 401 or not codes(error).isdisjoint(_NOT_LOGGED_IN))


def _read(answer: Answer) -> Any:
    try:
        return read_json(answer.body)
    except (ValueError, RecursionError):
        return answer.body.decode("utf-8", "replace")


def _failed(what: str, answer: Answer, errors: list[Any], body: Any, suggest: Callable[[], str]) -> ApiError:
    said = status(answer.status) if answer.status >= 400 else "with errors"
    message = f"{what} answered {said}: {error_text({'errors': errors[:_MAX_ERRORS]})}"
    hint = _advice(answer, set(_codes(errors)), suggest)
    if body.get("data") and not hint:
        hint = 'What it answered all the same is in the error: `error.body["data"]`.'
    return _error(message, answer, body, hint)


def _error(message: str, answer: Answer, body: Any, hint: str | None) -> ApiError:
    return ApiError(message, status=answer.status, body=body, retry_after=answer.retry_after, hint=hint)


def _codes(errors: Any) -> Iterator[str]:
    for error in errors[:_MAX_ERRORS] if isinstance(errors, list) else ():
        extensions = error.get("extensions") if isinstance(error, dict) else None
        # GitHub has `type` beside the message.
        for holder, key in ((extensions, "code"), (error, "type")):
            if isinstance(holder, dict) and isinstance(holder.get(key), str):
                yield holder[key].upper()


def _advice(answer: Answer, said: set[str] | tuple[()], suggest: Callable[[], str]) -> str | None:
    said = set(said)
    if answer.status in (401, 403) or said & {*_NOT_LOGGED_IN, *_FORBIDDEN}:
        return suggest() or _MISSING
    if answer.status == 429 or answer.retry_after is not None or said & {*_TOO_MANY}:
        seconds = answer.retry_after
        return "Wait before the next call." if seconds is None else f"Wait {seconds:.0f} seconds before the next call."
    usual = _ENDPOINT if answer.status == 404 else None
    return next((hint for known, hint in _HINTS.items() if said & {*known}), usual)
