"""What is read of the headers by which servers tell their limits."""

from __future__ import annotations

import time
from email.utils import formatdate
from typing import Any

import pytest
from doorward_http.rate_headers import Told, told

SAYS: list[tuple[dict[str, str], Told]] = [
    ({"ratelimit": '"default";r=50;t=30'}, Told(50, 31.0)),
    ({"ratelimit": '"day";r=500;t=7200, "burst";r=0;t=5;pk=:c2Fu:'}, Told(0, 6.0)),
    ({"ratelimit": '"a, b";r=3;t=2'}, Told(3, 3.0)),
    ({"ratelimit-limit": "100, 100;w=60", "ratelimit-remaining": "7", "ratelimit-reset": "20"}, Told(7, 21.0, 100)),
    ({"x-ratelimit-limit": "60", "x-ratelimit-remaining": "0", "x-ratelimit-reset-after": "0.25"}, Told(0, 0.25, 60)),
    ({"x-rate-limit-remaining": "3"}, Told(3)),
    (
        {"x-ratelimit-remaining": "9", "x-ratelimit-reset": "5", "x-ratelimit-resource": "search"},
        Told(9, 6.0, None, "search"),
    ),
]


@pytest.mark.parametrize(("headers", "said"), SAYS)
def test_common_forms_are_read(headers: dict[str, str], said: Told) -> None:
    """The draft, its older forms, and what vendors made. Of several limits, the tightest counts."""
    assert told(200, headers) == said


@pytest.mark.parametrize("form", ["{:.0f}", "{:.0f}000"])
def test_a_reset_may_be_a_time(form: str) -> None:
    """In seconds or milliseconds since 1970, by the server's own clock: ours may be wrong."""
    then = time.time() + 5000
    headers = {"x-ratelimit-remaining": "1", "date": formatdate(then, usegmt=True)}
    said = told(200, headers | {"x-ratelimit-reset": form.format(int(then) + 30)})
    assert said is not None
    assert said.reset == pytest.approx(31, abs=1.1)


def test_a_refusal_names_its_time() -> None:
    """`Retry-After` of 429; without it, that of the limit; without both, a second."""
    assert told(429, {"retry-after": "12"}) == Told(0, 12.0, None, "", True)
    assert told(429, {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "5"}) == Told(0, 6.0, None, "", True)
    assert told(429, {}) == Told(0, 1.0, None, "", True)
    assert told(503, {"retry-after": "12"}) is None


def test_a_server_is_asked_again_after_a_day() -> None:
    """One wrong header does not lock all of a server out until the next start of ours."""
    assert told(429, {"retry-after": "99999999"}) == Told(0, 86_400.0, None, "", True)
    assert told(200, {"x-ratelimit-remaining": "0", "x-ratelimit-reset-after": "99999999"}) == Told(0, 86_400.0)
    assert told(200, {"ratelimit": '"day";r=0;t=999999999999'}) == Told(0, 86_400.0)


@pytest.mark.slow
@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"content-type": "text/plain", "retry-after": "1"},
        {"x-ratelimit-remaining": "many"},
        {"x-ratelimit-remaining": "-1"},
        {"x-ratelimit-remaining": "9" * 400},
        {"ratelimit": ";;;r=1" * 1000},
        {"ratelimit": '"' * 100_000},
        {"ratelimit": "a;r=x;t=y"},
    ],
)
def test_nonsense_tells_nothing(headers: dict[str, Any]) -> None:
    """A hostile server is no slower to read, and limits nobody but itself."""
    began = time.process_time()
    assert told(200, headers) is None
    assert time.process_time() - began < 1
