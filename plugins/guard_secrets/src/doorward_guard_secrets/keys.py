"""Finds keys and tokens of known services in a text, by their forms: detect-secrets knows some, core others.

Only detectors that told no other text from a key are used: see the README for how that was measured. Randomness alone
is none of them, for ids, digests and cursors of pages are random too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from doorward.values import found_tokens

_PRIVATE_KEY = re.compile(
    r"-----BEGIN (?P<kind>(?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?)-----(?:\s|\\[rn])*[A-Za-z0-9+/=]{16}"
    r"(?s:.{0,20000}?-----END (?P=kind)-----)?"
)
"""With text of a key behind its first line: a program may look for that line."""

_MIN_CHARACTERS = 8
"""Different characters that a key has at least; `xoxb-XXXXXXXX-XXXXXXXX` is an example of a document."""

_RUN = re.compile(r"[A-Za-z0-9]{10}")
"""A key has such a run; `sk-ecdsa-sha2-nistp256` and `xoxa-access-token-string` are words."""


@cache
def _patterns() -> Sequence[tuple[re.Pattern[str], str]]:
    from detect_secrets.plugins import (
        aws,
        azure_storage_key,
        discord,
        github_token,
        gitlab_token,
        openai,
        pypi_token,
        sendgrid,
        slack,
        square_oauth,
        stripe,
        telegram_token,
    )

    detectors: dict[str, type[Any]] = {
        "a key of AWS": aws.AWSKeyDetector,
        "a key of Azure": azure_storage_key.AzureStorageKeyDetector,
        "a token of Discord": discord.DiscordBotTokenDetector,
        "a token of GitHub": github_token.GitHubTokenDetector,
        "a token of GitLab": gitlab_token.GitLabTokenDetector,
        "a key of OpenAI": openai.OpenAIDetector,
        "a token of PyPI": pypi_token.PypiTokenDetector,
        "a key of SendGrid": sendgrid.SendGridDetector,
        "a token or webhook of Slack": slack.SlackDetector,
        "a token of Square": square_oauth.SquareOAuthDetector,
        "a key of Stripe": stripe.StripeDetector,
        "a token of Telegram": telegram_token.TelegramBotTokenDetector,
    }
    # Only their patterns are used: a detector itself can ask the service whether a key is valid.
    ours = [(_PRIVATE_KEY, "a private key")]
    return ours + [(pattern, kind) for kind, detector in detectors.items() for pattern in detector.denylist]


def found(text: str) -> Iterator[tuple[int, int, str]]:
    """The keys in a text: where each begins and ends, and what it looks like."""
    for pattern, kind in _patterns():
        for match in pattern.finditer(text):
            if _is_drawn(match[0]):
                yield match.start(), match.end(), kind
    for start, end in found_tokens(text):
        if _is_drawn(text[start:end]):
            yield start, end, "a token"


def _is_drawn(text: str) -> bool:
    return len(set(text)) >= _MIN_CHARACTERS and _RUN.search(text) is not None


def without_keys(text: str) -> str:
    """The text with `[key]` in the place of each key."""
    end, parts = 0, []
    for first, last, _ in sorted(found(text)):
        if last > end:
            if first >= end:
                parts += [text[end:first], "[key]"]
            end = last
    return "".join(parts) + text[end:] if parts else text
