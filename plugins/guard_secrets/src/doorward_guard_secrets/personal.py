"""Replaces personal data and keys in a text. What has a checksum must pass it, so that other numbers stay."""

from __future__ import annotations

import re
from collections.abc import Collection

import phonenumbers
from stdnum import luhn

from doorward_guard_secrets.keys import without_keys

_EMAIL = re.compile(r"(?<![\w.+-])[\w.+-]{1,64}+@(?:[\w-]{1,63}+\.){1,8}[A-Za-z]{2,24}(?!\w)")
_CARD = re.compile(r"(?<![\w.-])\d(?:[ -]?\d){12,18}(?![\w-])")
_ISSUERS = re.compile(
    r"4(\d{12}|\d{15}|\d{18})"  # Visa
    r"|(5[1-5]|2[2-7])\d{14}|(50|5[6-9]|6[037])\d{10,17}"  # Mastercard, Maestro
    r"|3[47]\d{13}|3(0[0-5]|[68]\d)\d{11}"  # American Express, Diners Club
    r"|6(011|4[4-9]\d|5\d\d)\d{12}|35(2[89]|[3-8]\d)\d{12}|62\d{14,17}"  # Discover, JCB, UnionPay
)
"""First digits and lengths that issuers use: a tenth of all numbers passes the checksum, ids and times among them."""


class Redaction:
    """Replaces some kinds of data by `[email]`, `[card]`, `[phone]` and `[key]`. `region` is where phone numbers
    without a country code are from; without it, only those with one count."""

    def __init__(self, kinds: Collection[str], region: str | None) -> None:
        self._kinds = kinds
        self._region = region

    def __call__(self, text: str) -> str:
        if "key" in self._kinds:
            text = without_keys(text)
        if "email" in self._kinds and "@" in text:
            text = _EMAIL.sub("[email]", text)
        if "card" in self._kinds:
            text = _CARD.sub(_without_card, text)
        if "phone" in self._kinds:
            text = self._without_phones(text)
        return text

    def _without_phones(self, text: str) -> str:
        leniency = phonenumbers.Leniency.STRICT_GROUPING if self._region else phonenumbers.Leniency.VALID
        found = phonenumbers.PhoneNumberMatcher(text, self._region, leniency, max_tries=len(text) + 1)
        for match in reversed([*found]):
            text = f"{text[: match.start]}[phone]{text[match.end :]}"
        return text


def _without_card(match: re.Match[str]) -> str:
    digits = re.sub(r"\D", "", match[0])
    return "[card]" if _ISSUERS.fullmatch(digits) and luhn.is_valid(digits) else match[0]
