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
from typing import Any
from urllib.parse import quote, quote_plus

from pydantic import GetCoreSchemaHandler
from pydantic_core import core_schema

from doorward.errors import MissingSecret

REDACTED = "[secret]"
SHORTEST = 6
"""Revealed values of fewer characters are not scrubbed: removing `test` would ruin ordinary answers."""

_REFERENCE = re.compile(r"\$\$\{|\$\{(?:(?P<scheme>[a-z][a-z0-9_]*):(?!-)(?P<ref>[^}]+)|(?P<name>\w+)(?::-(?P<default>[^}]*))?)\}")


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
        self._file: tuple[float, dict[str, str]] = (-1.0, {})

    def expand(self, template: str, *, remember: bool = False) -> str:
        """`template` with its references replaced. `remember` makes the scrubber know each value.

        Raises: MissingSecret, naming the reference and where to set it.
        """

        def value(match: re.Match[str]) -> str:
            if match[0] == "$${":
                return "${"
            found = self._value(match["scheme"], match["ref"] or match["name"])
            if found is None:
                found = match["default"]
            if found is None:
                where = "the environment or .env" if match["scheme"] is None else "its place"
                raise MissingSecret(f"{match[0]} has no value", hint=f"Set it in {where}.")
            if remember:
                self.remember(found)
            return found

        return _REFERENCE.sub(value, template)

    def _value(self, scheme: str | None, name: str) -> str | None:
        if scheme is not None:
            return self.resolve(scheme, name) if self.resolve else None
        return self._environ.get(name, self._dotenv_values().get(name))

    def _dotenv_values(self) -> dict[str, str]:
        """`.env`, read again when it changes, so that rotated values are picked up."""
        try:
            changed = self._dotenv.stat().st_mtime if self._dotenv else -1.0
        except OSError:
            return {}
        if changed != self._file[0] and self._dotenv:
            from dotenv import dotenv_values

            values = dotenv_values(self._dotenv, interpolate=False)
            self._file = (changed, {k: v for k, v in values.items() if v is not None})
        return self._file[1]

    def variables(self, prefix: str) -> dict[str, str]:
        """The variables that start with `prefix`; the real environment wins over `.env`."""
        both = {**self._dotenv_values(), **self._environ}
        return {k: v for k, v in both.items() if k.startswith(prefix)}

    def remember(self, value: str) -> None:
        """Scrub this value from now on, in every encoding that `variants` lists."""
        if len(value) >= SHORTEST and value not in self._needles:
            self._needles.update(dict.fromkeys(variants(value)))

    def scrub(self, text: str) -> str:
        """`text` with everything that was revealed replaced by `[secret]`."""
        for needle in tuple(self._needles):
            if needle in text:
                text = text.replace(needle, REDACTED)
        return text

    def scrub_value(self, value: Any, dumped: bytes | None = None) -> Any:
        """A JSON value (or bytes) scrubbed in keys and strings. `dumped`, its JSON, saves the walk when clean."""
        if not self._needles:
            return value
        if isinstance(value, bytes):
            for needle in tuple(self._needles):
                value = value.replace(needle.encode(), REDACTED.encode())
            return value
        if dumped is not None and not any(n.encode() in dumped for n in self._needles):
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
            case _:
                return value


def variants(value: str) -> Iterator[str]:
    """How a value may come back: plain, percent-encoded, base64 at any offset, hex, JSON- or HTML-escaped."""
    raw = value.encode()
    yield value
    for encoded in (quote(value, safe=""), quote(value), quote_plus(value), "".join(f"%{b:02X}" for b in raw)):
        yield encoded
        yield re.sub(r"%[0-9A-F]{2}", lambda m: m[0].lower(), encoded)
    yield json.dumps(value)[1:-1]
    yield json.dumps(json.dumps(value))[3:-3]
    yield json.dumps(value, ensure_ascii=False)[1:-1]
    yield "".join(f"\\u{ord(c):04x}" for c in value if ord(c) < 0x10000)
    yield html.escape(value)
    yield raw.hex()
    yield raw.hex().upper()
    yield value[::-1]
    for alphabet in (base64.b64encode, base64.urlsafe_b64encode):
        for offset in range(3):
            # Inside a longer base64 text the value starts at any of three offsets; its edges mix with neighbours.
            text = alphabet(b"\0" * offset + raw).decode().rstrip("=")
            inner = text[(0, 2, 3)[offset] : len(text) - (1 if (len(raw) + offset) % 3 else 0)]
            if len(inner) >= SHORTEST:
                yield inner


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
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        def build(value: str, info: core_schema.ValidationInfo) -> Template:
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
        return f"Secret({REDACTED if self.literal else self.raw!r})"
