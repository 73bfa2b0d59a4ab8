"""Texts that leave for somebody who is owed no credential at all: the prompts of a model.

What the scrubber knows was revealed already. Such a text is also cleared of what Doorward could reveal (the values that
its configuration and its environment have), and of what looks like a credential, whoever's it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from doorward.model.errors import ConfigError
from doorward.secrets import detection, references
from doorward.secrets.redaction import REDACTED
from doorward.secrets.scrubber import Scope, Scrubber, is_guessable
from doorward.secrets.store import Secrets

_ASSIGNED = re.compile(
    r"(?<![\w.-])(?P<name>[\w.-]{2,80}+)[\"']?\s{0,3}(?:=>|:=|[=:](?!//))\s{0,3}(?P<scheme>(?:Bearer|Basic|Token)\s+)?[\"']?"
    r"(?P<secret>[^\s\"',;&)\]}]{6,})",
    re.IGNORECASE,
)
_BEARER = re.compile(r"(?<!\w)(?P<scheme>(?:Bearer|Basic)\s+)(?P<secret>[\w.~+/=-]{16,})", re.IGNORECASE)
_PRIVATE_KEY = re.compile(
    r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----.*?(?:-----END [A-Z ]{0,30}PRIVATE KEY-----|\Z)", re.DOTALL
)
_DRAWN = re.compile(r"(?=.*\d)(?=.*[A-Za-z])")
"""A value beside the name of a credential counts if it has letters and digits: `token: str` is source code."""


class Outgoing:
    """Clears texts. `configured` are the tables of the configuration as they are written.

    Secrets that can be guessed stay, as in everything that programs make: else a program could send a million of them
    to a model, and have it say which were removed.
    """

    def __init__(self, secrets: Secrets, configured: Callable[[], Mapping[str, Any]], scope: Scope) -> None:
        self._secrets, self._configured, self._scope = secrets, configured, scope
        self._unrevealed: tuple[frozenset[str], Scrubber] = frozenset(), Scrubber()

    def __call__(self, text: str) -> str:
        """The text with `[secret]` in place of each secret."""
        return without_tokens(self.without_known(text))

    def without_known(self, text: str) -> str:
        """The text without the secrets that Doorward knows or could reveal."""
        self.look()
        return self._scrubbed(text)

    def all(self, texts: Iterable[str]) -> list[str]:
        """Many texts, cleared of what could be revealed when somebody last looked."""
        return [without_tokens(self._scrubbed(text)) for text in texts]

    def look(self) -> None:
        """Look what could be revealed now: that takes a while where there are many servers."""
        values = frozenset(filter(_counts, self._could_reveal()))
        if values != self._unrevealed[0]:
            knowing = Scrubber()
            for value in values:
                knowing.remember(value)
            self._unrevealed = values, knowing

    def _scrubbed(self, text: str) -> str:
        return self._unrevealed[1].scrub(self._secrets.scrub(text, self._scope))

    def _could_reveal(self) -> Iterator[str]:
        for name, value in self._secrets.variables("").items():
            if detection.is_named_secret(name):
                yield value
        for key, text in _texts(self._configured()):
            is_named = detection.is_named_secret(key) or key == "value"  # of a header, as auths call it
            yield from [text] if key == "value" else detection.literals(text, key)
            with suppress(ConfigError):
                for reference in references.find(text):
                    if is_named or reference.scheme == "file" or detection.is_named_secret(reference.name):
                        yield self._secrets.at_hand(reference) or ""


def without_tokens(text: str) -> str:
    """A text with `[secret]` in place of what looks like a credential: the tokens of known services, private keys,
    passwords in URLs, values beside a name such as `password`."""
    text = _PRIVATE_KEY.sub(REDACTED, text)
    text = detection.mask_tokens(text, REDACTED)
    for pattern in (_ASSIGNED, _BEARER):
        text = pattern.sub(_without_value, text)
    return text


def without_drawn_tokens(text: str) -> str:
    """A text for a person who decides by it, with `[secret]` in place of what is a credential by its value: private
    keys, passwords in URLs, and tokens, if they look random. What a value is called says nothing: words stay."""
    text = _PRIVATE_KEY.sub(REDACTED, text)
    text = detection.mask_tokens(text, REDACTED, detection.is_drawn)
    return _BEARER.sub(lambda found: _without_value(found) if detection.is_drawn(found["secret"]) else found[0], text)


def _without_value(found: re.Match[str]) -> str:
    secret, name = found["secret"], found.groupdict().get("name")
    if (name is not None and not detection.is_named_secret(name)) or not _DRAWN.match(secret) or REDACTED in secret:
        return found[0]
    return found[0].removesuffix(secret) + REDACTED


def _counts(value: str) -> bool:
    return not is_guessable(value) and not detection.is_harmless(value)


def _texts(value: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """All texts of a table, each with its key."""
    match value:
        case str():
            yield key, value
        case Mapping():
            for name, part in value.items():
                yield from _texts(part, str(name))
        case list() | tuple():
            for part in value:
                yield from _texts(part, key)
