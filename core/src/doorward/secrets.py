"""Where `${…}` values come from, and the scrubber that keeps them out of every output.

A value is resolved when it is first needed, never while compiling. What was revealed is remembered, so that
`scrub` can remove it from results, errors, logs and audit, also where an API echoes it in another encoding.
"""

from __future__ import annotations

import base64
import html
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, quote_plus

from doorward.errors import ConfigError, DoorwardError, MissingSecret
from doorward.values import cut, plain

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler
    from pydantic_core.core_schema import CoreSchema, ValidationInfo

REDACTED = "[secret]"
MOST_OF_BODY = 200_000
"""Characters of an error's body that a program sees."""
SHORTEST = 6
"""Revealed values of fewer characters are not scrubbed: removing `test` would ruin ordinary answers."""

_REFERENCE = re.compile(
    r"\$\$\{|\$\{(?:(?P<scheme>[a-z][a-z0-9_]*):(?!-)(?P<ref>[^}]+)|(?P<name>\w+)(?::-(?P<default>[^}]*))?)\}|(?P<odd>\$\{[^}]*\}?)"
)


_CREDENTIAL = re.compile(r"(?i)key|token|secret|pass|pwd|credential|auth|file|keyring|cmd")
"""Names of variables, and schemes, whose values are scrubbed wherever they are used."""


class Secrets:
    """The values of `${VAR}`, `${VAR:-default}` and `${scheme:name}`: the environment, then `.env`, then hooks.

    A `$${` is a plain `${`.
    """

    def __init__(
        self,
        dotenv: Path | None = None,
        *,
        environ: Mapping[str, str] | None = None,
        resolve: Callable[[str, str], str | None] | None = None,
    ) -> None:
        self._dotenv = dotenv
        self._environ = os.environ if environ is None else environ
        self.resolve = resolve
        self._needles: dict[str, None] = {}
        self._file: tuple[tuple[int, ...], dict[str, str]] = ((), {})

    def expand(self, template: str, *, remember: bool = False) -> str:
        """`template` with its references replaced. `remember` makes the scrubber know each value.

        Raises: MissingSecret, naming the reference and where to set it.
        """

        def value(match: re.Match[str]) -> str:
            if match[0] == "$${":
                return "${"
            if match["odd"]:
                raise MissingSecret(
                    "a ${…} in it is no reference", hint="Write ${NAME}, ${NAME:-default} or ${scheme:name}; $${ is a plain ${."
                )
            found = self._value(match["scheme"], match["ref"] or match["name"])
            if not found and match["default"] is not None:
                found = match["default"]
            if found is None:
                where = "the environment or .env" if match["scheme"] is None else "its place"
                raise MissingSecret(f"{match[0]} has no value", hint=f"Set it in {where}.")
            if remember or _CREDENTIAL.search(match["name"] or match["scheme"] or ""):
                self.remember(found)
            return found

        return _REFERENCE.sub(value, template)

    def _value(self, scheme: str | None, name: str) -> str | None:
        if scheme is not None:
            return self.resolve(scheme, name) if self.resolve else None
        return self._environ.get(name, self._dotenv_values().get(name))

    def _dotenv_values(self) -> dict[str, str]:
        """`.env`, read again when it changes, so that rotated values are picked up."""
        if self._dotenv is None or not self._dotenv.is_file():
            self._file = ((), {})
            return {}
        found = self._dotenv.stat()
        changed = (found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino)
        if changed != self._file[0]:
            from dotenv import dotenv_values

            try:
                values = dotenv_values(self._dotenv, interpolate=False)
            except (OSError, UnicodeDecodeError) as error:
                raise ConfigError(f"cannot be read: {error}", place=str(self._dotenv)) from None
            self._file = (changed, {k: v for k, v in values.items() if v is not None})
        return self._file[1]

    def variables(self, prefix: str) -> dict[str, str]:
        """The variables that start with `prefix`; the real environment wins over `.env`."""
        both = {**self._dotenv_values(), **self._environ}
        return {k: v for k, v in both.items() if k.startswith(prefix)}

    def remember(self, value: str) -> None:
        """Scrub this value from now on, in every encoding that `variants` lists."""
        for text in (value, value.strip()):
            if len(text) >= SHORTEST and text not in self._needles:
                # The longest first: a secret that is the beginning of another one must not save the rest of it.
                self._needles = dict.fromkeys(sorted({*self._needles, *variants(text)}, key=len, reverse=True))

    def scrub(self, text: str) -> str:
        """`text` with everything that was revealed replaced by `[secret]`."""
        for needle in tuple(self._needles):
            if needle in text:
                text = text.replace(needle, REDACTED)
        return text

    def scrub_error(self, error: DoorwardError, longest: int = 1000) -> None:
        """An error's message, hint and body scrubbed, and only then cut: half of a credential would not be found."""
        text = self.scrub(error.message)
        error.message = text if len(text) <= longest else f"{text[:longest]} …"
        error.hint = self.scrub(error.hint) if error.hint else None
        error.args = (error.message,)
        if getattr(error, "body", None) is not None:
            error.body = cut(self.scrub_value(plain(error.body)), MOST_OF_BODY)  # type: ignore[attr-defined]

    def scrub_value(self, value: Any, dumped: bytes | None = None) -> Any:
        """A JSON value (or bytes) scrubbed in keys and strings. `dumped`, its JSON, saves the walk when clean."""
        if not self._needles:
            return value
        if isinstance(value, bytes):
            for needle in tuple(self._needles):
                value = value.replace(_bytes(needle), REDACTED.encode())
            return value
        if dumped is not None and not any(_bytes(n) in dumped for n in self._needles):
            return value
        return self._walk(value)

    def _walk(self, value: Any) -> Any:
        match value:
            case str():
                return self.scrub(value)
            case dict():
                return {self._walk(k): self._walk(v) for k, v in value.items()}
            case list() | tuple():
                return [self._walk(v) for v in value]
            case int() | float() if not isinstance(value, bool) and self.scrub(str(value)) != str(value):
                return REDACTED
            case _:
                return value


def variants(value: str) -> Iterator[str]:
    """How a value may come back: plain, percent-encoded, base64 at any offset, hex, JSON- or HTML-escaped."""
    raw = _bytes(value)
    yield value
    twice = quote(quote(raw, safe=""), safe="")
    lenient = quote(raw, safe="%:/?#[]@!$&'()*+,;=")  # as whole URLs are encoded
    for encoded in (quote(raw, safe=""), quote(raw), quote_plus(raw), lenient, twice, "".join(f"%{b:02X}" for b in raw)):
        yield encoded
        yield re.sub(r"%[0-9A-F]{2}", lambda m: m[0].lower(), encoded)
    escaped = json.dumps(value)[1:-1]
    yield escaped
    yield escaped.replace("/", "\\/")
    yield re.sub(r"\\u[0-9a-f]{4}", lambda m: "\\u" + m[0][2:].upper(), escaped)
    yield json.dumps(json.dumps(value))[3:-3]
    yield json.dumps(value, ensure_ascii=False)[1:-1]
    yield value.replace("\\", "\\\\").replace("'", "\\'")  # as Python and JavaScript quote it
    yield "".join(f"\\u{ord(c):04x}" for c in value if ord(c) < 0x10000)
    yield html.escape(value)
    yield html.escape(value).replace("&#x27;", "&#39;")
    yield raw.hex()
    yield raw.hex().upper()
    yield value[::-1]
    yield value.upper()
    yield value.lower()
    yield value.encode(errors="surrogateescape").decode("latin-1")
    yield "".join(f"&#{ord(c)};" for c in value)
    yield raw.hex(":")
    yield base64.encodebytes(raw).decode().strip()
    yield base64.b32encode(raw).decode().rstrip("=")
    for alphabet in (base64.b64encode, base64.urlsafe_b64encode):
        for offset in range(3):
            # Inside a longer base64 text the value starts at any of three offsets; its edges mix with neighbours.
            text = alphabet(b"\0" * offset + raw).decode().rstrip("=")
            inner = text[(0, 2, 3)[offset] : len(text) - (1 if (len(raw) + offset) % 3 else 0)]
            if len(inner) >= SHORTEST:
                yield inner


def _bytes(text: str) -> bytes:
    """UTF-8. An environment variable may hold what is none."""
    return text.encode(errors="surrogatepass")


class Template:
    """A string of the configuration whose references are resolved when it is used, not when it is read.

    A pydantic type for the `Settings` of drivers: `headers: dict[str, Template]`.
    """

    def __init__(self, raw: str, secrets: Secrets | None = None, place: str = "") -> None:
        self.raw = raw
        self.place = place
        self._secrets = secrets or Secrets()

    def reveal(self) -> str:
        """The value now. What its references stand for is scrubbed from every output from here on.

        Raises: MissingSecret.
        """
        return self._secrets.expand(self.raw, remember=True)

    def remember(self, value: str) -> None:
        """Scrub something that was made of this value (an encoded header, a fetched token) as well."""
        self._secrets.remember(value)

    def missing(self) -> str | None:
        """Why `reveal` would fail, or `None`."""
        try:
            self._secrets.expand(self.raw)
        except MissingSecret as error:
            return str(error)
        return None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.raw!r})"

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        from pydantic_core import core_schema

        def build(value: str, info: ValidationInfo) -> Template:
            context = info.context or {}
            return cls(value, context.get("secrets"), context.get("place", ""))

        return core_schema.with_info_after_validator_function(
            build,
            core_schema.str_schema(),
            serialization=core_schema.plain_serializer_function_ser_schema(lambda t: repr(t)),
        )


class Secret(Template):
    """A `Template` that is a credential: the whole value is scrubbed, also where the file holds it literally."""

    def reveal(self) -> str:
        value = super().reveal()
        self.remember(value)
        return value

    @property
    def literal(self) -> bool:
        """Whether the configuration file holds the credential itself; `doctor` warns about that."""
        return not _REFERENCE.search(self.raw)

    def __repr__(self) -> str:
        shown = re.sub(r":-[^}]*\}", "}", self.raw)  # A default may be a credential too.
        return f"Secret({REDACTED if self.literal else repr(shown)})"
