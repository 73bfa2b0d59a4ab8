"""Finds personal data in a text: e-mail addresses, phone numbers, and numbers of cards, bank accounts and US social
security. What has a checksum must pass it, so that other numbers stay: but a tenth of all numbers as long as a card's
passes, and ids look like phone numbers."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection

from stdnum import iban, luhn
from stdnum.us import ssn

from doorward_llm.settings import KINDS, Kind

_REGION = "US"
"""Where numbers without a country code are from."""


def _any(text: str) -> bool:
    return True


def _is_card(text: str) -> bool:
    digits = re.sub(r"\D", "", text)
    return 13 <= len(digits) <= 19 and len(set(digits)) > 1 and luhn.is_valid(digits)


_PATTERNS: tuple[tuple[Kind, re.Pattern[str], Callable[[str], bool]], ...] = (
    ("email", re.compile(r"(?<![\w.+-])[\w.+-]{1,64}+@(?:[\w-]{1,63}+\.){1,8}[A-Za-z]{2,24}(?!\w)"), _any),
    (
        "iban",
        re.compile(r"(?<!\w)[A-Z]{2}\d{2}(?:[A-Z0-9]{11,30}|(?: [A-Z0-9]{4}){2,7}(?: [A-Z0-9]{1,3})?)(?!\w)"),
        iban.is_valid,
    ),
    ("card", re.compile(r"(?<![\w-])\d(?:[ -]?\d){12,18}(?![\w-])"), _is_card),
    ("ssn", re.compile(r"(?<![\w-])\d{3}-\d{2}-\d{4}(?![\w-])"), ssn.is_valid),
)


def without_personal_data(text: str, kinds: Collection[Kind] = KINDS) -> tuple[str, set[Kind]]:
    """The text with `[email]`, `[phone]` and so on in the place of personal data of these kinds, and the kinds of it
    that were found."""
    found: set[Kind] = set()
    for kind, pattern, is_one in _PATTERNS:
        if kind not in kinds:
            continue

        def mask(match: re.Match[str], kind: Kind = kind, is_one: Callable[[str], bool] = is_one) -> str:
            if not is_one(match[0]):
                return match[0]
            found.add(kind)
            return f"[{kind}]"

        text = pattern.sub(mask, text)
    if "phone" not in kinds:
        return text, found
    import phonenumbers

    leniency = phonenumbers.Leniency.STRICT_GROUPING
    for match in reversed([*phonenumbers.PhoneNumberMatcher(text, _REGION, leniency, max_tries=65_535)]):
        found.add("phone")
        text = f"{text[: match.start]}[phone]{text[match.end :]}"
    return text, found
