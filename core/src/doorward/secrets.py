"""Where `${…}` values come from.

A value is resolved when it is first needed, never while compiling. What was revealed is remembered by the scrubber, which removes
it from results, errors, logs and audit.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from doorward.errors import ConfigError, MissingSecret
from doorward.scrubber import REDACTED, Scrubber

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler
    from pydantic_core.core_schema import CoreSchema, ValidationInfo

_REFERENCE = re.compile(
    r"\$\$\{|\$\{(?:(?P<scheme>[a-z][a-z0-9_]*):(?!-)(?P<ref>[^}]+)|(?P<name>\w+)(?::-(?P<default>[^}]*))?)\}|(?P<odd>\$\{[^}]*\}?)"
)


_CREDENTIAL = re.compile(r"(?i)key|token|secret|pass|pwd|credential|auth|file|keyring|cmd")
"""Names of variables, and schemes, whose values are scrubbed wherever they are used."""


class Secrets(Scrubber):
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
        super().__init__()
        self._dotenv = dotenv
        self._environ = os.environ if environ is None else environ
        self.resolve = resolve
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

    def of(self, principal: str, own: Callable[[str], str | None]) -> Secrets:
        """These, and the principal's `own` secrets as `${principal:KEY}`."""
        return _OfPrincipal(self, principal, own)

    def variables(self, prefix: str) -> dict[str, str]:
        """The variables that start with `prefix`; the real environment wins over `.env`."""
        both = {**self._dotenv_values(), **self._environ}
        return {k: v for k, v in both.items() if k.startswith(prefix)}


class _OfPrincipal(Secrets):
    """The secrets that one principal's settings may name. What is revealed is remembered by the scrubber of all."""

    def __init__(self, shared: Secrets, principal: str, own: Callable[[str], str | None]) -> None:
        self._shared, self._principal, self._own = shared, principal, own

    def _value(self, scheme: str | None, name: str) -> str | None:
        if scheme != "principal":
            return self._shared._value(scheme, name)
        if (found := self._own(name)) is None:
            place = f"[principals.{self._principal}.secrets]"
            raise MissingSecret(f"the principal {self._principal!r} has no {name!r}", hint=f"Set {name} in {place}.")
        return found

    def remember(self, value: str) -> None:
        self._shared.remember(value)

    def scrub(self, text: str) -> str:
        return self._shared.scrub(text)


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

        def build(value: Any, handler: Callable[[Any], str], info: ValidationInfo) -> Template:
            if isinstance(value, cls):  # of a plugin's settings that another's are made of
                return value
            context = info.context or {}
            return cls(handler(value), context.get("secrets"), context.get("place", ""))

        return core_schema.with_info_wrap_validator_function(
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
