"""Finds secrets in the texts of a configuration: by their names, by their looks, and by their places.

In doubt a text counts as a secret: a mistake costs no more than a line in `.env`.
"""

from __future__ import annotations

import base64
import binascii
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from doorward.secrets import references

Keep = Callable[[str, str], str]
"""Keeps a secret under a name like the proposed one, and returns the reference to it."""

_NAMED = re.compile(
    r"token|secret|passw|passphrase|pwd|credential|bearer|cookie|signature|dsn|webhook|auth(?!or(?!iz))|(api|access|private)[-_]?key"
    r"|(?<![a-z])(key|pat|pin|sig)(?![a-z])|(?-i:[a-z](?:Key|Pat)(?![a-z]))",
    re.IGNORECASE,
)
_NOT_NAMED = re.compile(
    r"([-_]|^|(?<=[a-z]))(file|path|dir|sock|socket|ur[li]|type|name|id|limit|host|port|region|mode|timeout|endpoint|count|version|algorithm|field)s?$"
    r"|^(max|num|public)[-_]",
    re.IGNORECASE,
)
"""Names of things that have to do with a secret but are none: `TOKEN_URL`, `AUTH_TYPE`."""

_HARMLESS = re.compile(
    r"(?i)|true|false|yes|no|on|off|none|null|\d{1,3}|(~|\.{1,2})?[/\\].*\.\w{1,5}|[a-z]:[\\/].*|https?://[^@?]*"
)
"""Values that are never secrets, whatever their name: switches, small numbers, file names, plain URLs."""

_KNOWN_TOKENS = (
    r"gh[pousr]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|sk-[\w-]{16,}|[srp]k_(live|test)_\w{10,}|xox[abeprs]-[\w-]{10,}|xapp-[\w-]{10,}"
    r"|A[KS]IA[A-Z0-9]{16}|AIza[\w-]{30,}|ya29\.[\w-]{20,}|hf_[A-Za-z0-9]{20,}|npm_[A-Za-z0-9]{20,}"
    r"|py" r"pi-[\w-]{20,}|figd_[\w-]{20,}"
    r"|lin_api_[A-Za-z0-9]{20,}|ntn_[A-Za-z0-9]{20,}|secret_[A-Za-z0-9]{20,}|dop_v1_\w{20,}|SG\.[\w-]{16,}\.[\w-]{16,}|shp(at|ss|ca|pa)_\w{16,}|tvly-[\w-]{16,}|pplx-\w{20,}|xai-\w{20,}|BSA\w{20,}"
    r"|gsk_[A-Za-z0-9]{20,}|eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*|sbp_[A-Za-z0-9]{20,}|dapi[0-9a-f]{32}|ATATT[\w=-]{20,}"
)  # fmt: skip
"""Tokens of known services, by their beginnings."""

_WORDS = re.compile(r"([A-Za-z]+([-_. /]|\Z))+|\d{0,11}|https?://[^@?]*")
"""Values that are no secrets if only a vague name suggests it: `X-Keyspace: production`."""
_WORD = r"[\w.-]*"
_USERINFO = re.compile(
    r"(?<=://)(?P<user>[^/@:\s?#]*):(?P<secret>[^/@\s]+)(?=@)|(?<=://)(?P<only>[^/@:\s?#$]{16,})(?=@)"
)
_PAIR = re.compile(
    rf"(?:(?<=[?&;,\s])|^)-{{0,2}}(?P<name>{_WORD})(?P<between>=|:(?!//)\s*|%3D)(?P<scheme>(?:Bearer|Basic|Token)\s+)?(?P<secret>[^\s&;,#]+)",
    re.IGNORECASE,
)
_TOKEN = re.compile(rf"(?<![\w$-])\$*(?:{_KNOWN_TOKENS})(?![\w-])")
_CHUNK = re.compile(r"(?<![\w+:@/.=$-])\$*[\w+=-]{20,}+(?![/.:@])|(?<=/)[A-Za-z0-9]{20,}+(?=[/?#]|$)")
"""Includes the `$` before a secret, which would escape the reference that takes its place."""

_BETWEEN = re.compile(r"[\W_]+")
_RUN = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|\d+")
_MAX_RUN_CHARACTERS = 4
"""Characters of one kind in a row, on average, in random text; words and dates have more."""

_SCHEME = re.compile(r"((?:Bearer|Basic|Token|ApiKey)\s+)(.+)", re.IGNORECASE | re.DOTALL)


def is_named_secret(name: str) -> bool:
    """Whether a name is that of a secret: `GITHUB_TOKEN`, `X-Api-Key`, `--password`."""
    return bool(_NAMED.search(name)) and not _NOT_NAMED.search(name)


def is_random(text: str) -> bool:
    """Whether a text looks random: a long run of letters and digits in no order."""
    for chunk in re.findall(r"[A-Za-z0-9+]{20,}", text):
        counts = Counter(chunk)
        entropy = -sum(n / len(chunk) * math.log2(n / len(chunk)) for n in counts.values())
        digits = sum(c.isdigit() for c in chunk)
        if entropy >= 3.2 and digits >= 2 and digits < len(chunk):
            return True
    return False


def is_drawn(text: str) -> bool:
    """Whether a fetched value looks random, also in pieces: the runs in a UUID or in base64url are short too."""
    runs = _RUN.findall(_BETWEEN.sub("", text))
    return is_random(text) or (
        text.isascii() and len(text) >= 20 and 0 < sum(map(len, runs)) <= _MAX_RUN_CHARACTERS * len(runs)
    )


def hide_whole(text: str, keep: Keep, *, name: str) -> str:
    """The reference for a value that is a secret as a whole; a word before it (`Bearer`) stays. A value that is empty
    or has references is not changed."""
    if not references.is_plain(text) or not text:
        return text
    scheme = _SCHEME.fullmatch(text)
    return f"{scheme[1]}{_kept(keep, name, scheme[2])}" if scheme else _kept(keep, name, text)


def hide(text: str, keep: Keep, *, name: str = "", guess: bool = True) -> str:
    """A value with references in place of its secrets. `name` is the name of the value, if it has one. `guess`: text
    that only looks random counts as a secret too."""
    if references.is_plain(text) and "://" not in text and is_named_secret(name) and not _HARMLESS.fullmatch(text):
        return hide_whole(text, keep, name=name)

    def part(what: str, secret: str) -> str:
        return _kept(keep, f"{name}_{what}" if name else what, secret)

    text = _USERINFO.sub(lambda found: _userinfo(found, part), text)
    text = _PAIR.sub(lambda found: _pair(found, part), text)
    text = _outside(_TOKEN, text, lambda secret: part("token", secret))
    if not guess:
        return text
    return _outside(_CHUNK, text, lambda secret: part("secret", secret) if is_random(secret) else secret)


def literals(text: str, name: str) -> set[str]:
    """The secrets in a text with the name `name` (of a header, a variable), and their parts: the password in basic
    credentials, the values of cookies."""
    found: set[str] = set()

    def keep(_: str, secret: str) -> str:
        found.add(secret)
        return "${hidden}"

    if references.is_credential(name) and not is_named_secret(name) and not _WORDS.fullmatch(text):
        hide_whole(text, keep, name=name)
    hide(text, keep, name=name)
    for secret in [*found]:
        if "cookie" in name.lower():
            values = (part.partition("=")[2].strip() for part in secret.split(";"))
            found.update(value for value in values if not _WORDS.fullmatch(value))
        try:
            user, colon, password = base64.b64decode(secret, validate=True).decode().partition(":")
        except (binascii.Error, ValueError):
            continue
        if colon and text.lower().startswith("basic "):
            found |= {password, f"{user}:{password}"}
    return found - {""}


def hide_arguments(words: Sequence[str], keep: Keep) -> Iterator[str]:
    """The words of a command line with references in place of secrets. `--token VALUE` is two words."""
    option = ""
    for word in words:
        may_be_secret = not word.startswith("-") and references.is_plain(word) and "://" not in word
        if option and may_be_secret and not _HARMLESS.fullmatch(word):
            yield _kept(keep, option, word)
        else:
            yield hide(word, keep)
        named = re.fullmatch(r"-{1,2}([A-Za-z][\w.-]*)", word)
        option = named[1] if named and is_named_secret(named[1]) and not re.search(r"(?i)^no-|auth$", named[1]) else ""


def mask_tokens(text: str, mask: str, is_one: Callable[[str], bool] = bool) -> str:
    """A text with `mask` in place of tokens of known services that are such by `is_one`, and of users and passwords in
    URLs. References are text like any other."""
    text = _USERINFO.sub(lambda found: _userinfo(found, lambda name, secret: mask), text)
    return _TOKEN.sub(lambda found: mask if is_one(found[0]) else found[0], text)


def found_tokens(text: str) -> Iterator[tuple[int, int]]:
    """Where the tokens of known services begin and end in a text."""
    return (found.span() for found in _TOKEN.finditer(text))


def is_harmless(value: str) -> bool:
    """Whether a value is no secret, whatever its name: a switch, a number, a path, a plain URL."""
    return bool(_HARMLESS.fullmatch(value))


def _userinfo(found: re.Match[str], keep: Keep) -> str:
    """`https://TOKEN@…`, `https://user:password@…`."""
    if only := found["only"]:
        return keep("token", only) if is_random(only) or _TOKEN.fullmatch(only) else only
    if not references.is_plain(found["secret"]):
        return found[0]
    return f"{found['user']}:{keep('password', found['secret'])}"


def _pair(found: re.Match[str], keep: Keep) -> str:
    """`--api-key=…`, `TOKEN=…`, `?key=…`, `Authorization: Bearer …`, `Password=…;`."""
    secret = found["secret"]
    may_be_secret = references.is_plain(secret) and "://" not in secret
    if not is_named_secret(found["name"]) or not may_be_secret or _HARMLESS.fullmatch(secret):
        return found[0]
    return found[0].removesuffix(secret) + keep(found["name"], secret)


def _outside(pattern: re.Pattern[str], text: str, replace: Callable[[str], str]) -> str:
    """A text with all matches replaced, except within references."""
    return "".join(
        piece if is_reference else pattern.sub(lambda found: replace(found[0]), piece)
        for piece, is_reference in references.split(text)
    )


def _kept(keep: Keep, name: str, secret: str) -> str:
    """Keep the secret itself, without the escapes of the configuration."""
    return keep(name, references.unescaped(secret))
