"""Secrets in the texts of a configuration: found by what they are called, by what they look like, and by where they
stand.

What is taken for a secret and is none costs a line in `.env`. So in doubt it is one.
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
"""Keeps a secret under a name like the one that is proposed; answers the reference to it."""

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
"""About a secret, and none: `TOKEN_URL`, `AUTH_TYPE`."""

_HARMLESS = re.compile(
    r"(?i)|true|false|yes|no|on|off|none|null|\d{1,3}|(~|\.{1,2})?[/\\].*\.\w{1,5}|[a-z]:[\\/].*|https?://[^@?]*"
)
"""Values that are no secrets whatever their name: switches, small numbers, names of files, plain URLs."""

_KNOWN_TOKENS = (
    r"gh[pousr]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|sk-[\w-]{16,}|[srp]k_(live|test)_\w{10,}|xox[abeprs]-[\w-]{10,}|xapp-[\w-]{10,}"
    r"|A[KS]IA[A-Z0-9]{16}|AIza[\w-]{30,}|ya29\.[\w-]{20,}|hf_\w{20,}|npm_\w{20,}|py" r"pi-[\w-]{20,}|figd_[\w-]{20,}"
    r"|lin_api_\w{20,}|ntn_\w{20,}|secret_\w{20,}|dop_v1_\w{20,}|SG\.[\w-]{16,}\.[\w-]{16,}|shp(at|ss|ca|pa)_\w{16,}|tvly-[\w-]{16,}|pplx-\w{20,}|BSA\w{20,}|gsk_\w{20,}"
    r"|eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*|sbp_\w{20,}|dapi[0-9a-f]{32}|ATATT[\w=-]{20,}"
)  # fmt: skip
"""How tokens of known services begin."""

_WORDS = re.compile(r"([A-Za-z]+([-_. /]|\Z))+|\d{0,11}|https?://[^@?]*")
"""What is no secret where only a vague name speaks for it: `X-Keyspace: production`."""
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
"""With the `$` before them, which would escape the reference that takes their place."""

_BETWEEN = re.compile(r"[\W_]+")
_RUN = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|\d+")
_MAX_RUN_CHARACTERS = 4
"""Characters of a kind in a row, on average, in what a machine has drawn; words and dates have more."""

_SCHEME = re.compile(r"((?:Bearer|Basic|Token|ApiKey)\s+)(.+)", re.IGNORECASE | re.DOTALL)


def is_named_secret(name: str) -> bool:
    """Whether what is called so is one: `GITHUB_TOKEN`, `X-Api-Key`, `--password`."""
    return bool(_NAMED.search(name)) and not _NOT_NAMED.search(name)


def is_random(text: str) -> bool:
    """Whether a text looks as if a machine had drawn it: a long run of letters and digits in no order."""
    for chunk in re.findall(r"[A-Za-z0-9+]{20,}", text):
        counts = Counter(chunk)
        entropy = -sum(n / len(chunk) * math.log2(n / len(chunk)) for n in counts.values())
        digits = sum(c.isdigit() for c in chunk)
        if entropy >= 3.2 and digits >= 2 and digits < len(chunk):
            return True
    return False


def is_drawn(text: str) -> bool:
    """Whether a value that was fetched looks drawn by a machine, also in pieces: of a UUID or base64url the runs are
    short, too."""
    runs = _RUN.findall(_BETWEEN.sub("", text))
    return is_random(text) or (
        text.isascii() and len(text) >= 20 and 0 < sum(map(len, runs)) <= _MAX_RUN_CHARACTERS * len(runs)
    )


def hide_whole(text: str, keep: Keep, *, name: str) -> str:
    """A value that is a secret, but for a word before it (`Bearer`), as a reference. One that has references, or
    nothing in it, stays."""
    if not references.is_plain(text) or not text:
        return text
    scheme = _SCHEME.fullmatch(text)
    return f"{scheme[1]}{_kept(keep, name, scheme[2])}" if scheme else _kept(keep, name, text)


def hide(text: str, keep: Keep, *, name: str = "", guess: bool = True) -> str:
    """The text of a value with references in place of secrets. `name` is what the value is called, if it is called
    anything. `guess`: what only looks random is one, too."""
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
    """The secrets that a text itself holds, which is called `name`: a header, a variable. Also what they are made of:
    the words of basic credentials, the values of cookies."""
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
    """The words of a command line, one for one; `--token VALUE` is two of them."""
    option = ""
    for word in words:
        if (
            option
            and not word.startswith("-")
            and references.is_plain(word)
            and not _HARMLESS.fullmatch(word)
            and "://" not in word
        ):
            yield _kept(keep, option, word)
        else:
            yield hide(word, keep)
        named = re.fullmatch(r"-{1,2}([A-Za-z][\w.-]*)", word)
        option = named[1] if named and is_named_secret(named[1]) and not re.search(r"(?i)^no-|auth$", named[1]) else ""


def _userinfo(found: re.Match[str], keep: Keep) -> str:
    if found["only"]:
        return (
            keep("token", found["only"])
            if is_random(found["only"]) or _TOKEN.fullmatch(found["only"])
            else found["only"]
        )
    return (
        found[0] if not references.is_plain(found["secret"]) else f"{found['user']}:{keep('password', found['secret'])}"
    )


def _pair(found: re.Match[str], keep: Keep) -> str:
    """`--api-key=…`, `TOKEN=…`, `?key=…`, `Authorization: Bearer …`, `Password=…;`."""
    secret = found["secret"]
    if (
        not is_named_secret(found["name"])
        or not references.is_plain(secret)
        or _HARMLESS.fullmatch(secret)
        or "://" in secret
    ):
        return found[0]
    return found[0].removesuffix(secret) + keep(found["name"], secret)


def _outside(pattern: re.Pattern[str], text: str, replace: Callable[[str], str]) -> str:
    """The text with what matches replaced, but within references."""
    return "".join(
        piece if is_reference else pattern.sub(lambda found: replace(found[0]), piece)
        for piece, is_reference in references.split(text)
    )


def _kept(keep: Keep, name: str, secret: str) -> str:
    """What is kept is the secret itself, not how the configuration would write it."""
    return keep(name, references.unescaped(secret))
