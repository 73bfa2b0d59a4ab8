"""Resolves `${…}`.

A value is resolved when it is first needed, never while compiling. The scrubber remembers each revealed value, and
removes it from results, errors, logs and audit.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from doorward.host.cached_file import CachedFile
from doorward.model.errors import ConfigError, MissingSecret
from doorward.model.references import ResolvedLater
from doorward.secrets import references
from doorward.secrets.owners import Owner
from doorward.secrets.redaction import REDACTED
from doorward.secrets.references import Reference
from doorward.secrets.scrubber import Scrubber

if TYPE_CHECKING:
    import anyio
    from pydantic import GetCoreSchemaHandler
    from pydantic_core.core_schema import CoreSchema, ValidationInfo

MAX_SECRET_FILE_BYTES = 64 * 1024
"""The largest file of `${file:…}`."""
MAX_DOTENV_BYTES = 4 * 2**20
MAX_FETCH_THREADS = 8
"""Values that plugins may fetch at the same time."""


class Secrets(Scrubber):
    """The values of references: `${VAR}` and `${VAR:-default}` from the environment, else from `.env`; `${file:path}`
    from files; other schemes from the hooks of plugins."""

    def __init__(
        self,
        dotenv: Path | None = None,
        *,
        folder: Path | None = None,
        environ: Mapping[str, str] | None = None,
        resolve: Callable[[str, str], str | None] | None = None,
        file: Path | None = None,
    ) -> None:
        """`folder`: where relative paths of `${file:…}` start; if not given, the folder of `.env`. `file`: the
        configuration, of which errors name lines."""
        super().__init__()
        self.file = file
        self.env_file = dotenv
        self._dotenv = CachedFile(dotenv, _variables, MAX_DOTENV_BYTES) if dotenv else None
        self._folder = folder or (dotenv.parent if dotenv else Path())
        self._environ = os.environ if environ is None else environ
        self._files: dict[str, CachedFile[str]] = {}
        self._fetching: dict[tuple[str, str], asyncio.Future[str | None]] = {}
        self._threads: anyio.CapacityLimiter | None = None
        self.resolve = resolve

    def expand(
        self,
        template: str,
        *,
        remember: bool = False,
        credential: bool = False,
        fetched: Mapping[str, str | None] | None = None,
    ) -> str:
        """A text with its references replaced. `remember`: the scrubber remembers each value. `credential`: each value
        counts as a credential, whatever its name. `fetched`: values that are known already, by the text of their
        reference. The caller waits even for a slow plugin: `get` does not block.

        Raises: MissingSecret, naming the reference and where to set it; ConfigError for a file that cannot be read.
        """

        def value(reference: Reference) -> str:
            known = fetched is not None and reference.text in fetched
            found = fetched[reference.text] if known and fetched else self._value(reference)
            if not found and reference.default is not None:
                found = reference.default
            if found is None:
                raise MissingSecret(f"{reference.text} has no value", hint=_advice(reference))
            if self._is_to_hide(reference, remember):
                is_credential = credential or bool(reference.scheme) or references.is_credential(reference.name)
                self.remember(found, of=reference.text, whose=Owner(is_credential=is_credential))
            return found

        return references.replace(template, value)

    async def get(self, template: str, *, credential: bool = False) -> str:
        """`expand` with `remember`, without blocking: plugins fetch values in threads, each value once for all callers
        that ask at the same time.

        Raises: MissingSecret, ConfigError.
        """
        fetched = {r.text: await self._fetch(r) for r in references.find(template) if self._takes_time(r)}
        return self.expand(template, remember=True, credential=credential, fetched=fetched)

    def at_hand(self, reference: Reference) -> str | None:
        """The value of a reference if no plugin has to fetch it; the scrubber is not told."""
        return None if self._takes_time(reference) else (self._value(reference) or reference.default)

    def _takes_time(self, reference: Reference) -> bool:
        return reference.scheme not in ("", "file")

    def _is_to_hide(self, reference: Reference, remember: bool) -> bool:
        return remember or bool(reference.scheme) or references.is_credential(reference.name)

    async def _fetch(self, reference: Reference) -> str | None:
        import anyio
        import anyio.to_thread

        key = reference.scheme, reference.name
        if key not in self._fetching:
            self._threads = self._threads or anyio.CapacityLimiter(MAX_FETCH_THREADS)
            work = anyio.to_thread.run_sync(self._value, reference, abandon_on_cancel=True, limiter=self._threads)
            # A task of its own, because the first caller may be gone before the answer comes.
            self._fetching[key] = asyncio.ensure_future(work)
            self._fetching[key].add_done_callback(
                lambda done: (self._fetching.pop(key), done.cancelled() or done.exception())
            )
        try:
            return await asyncio.shield(self._fetching[key])
        except (
            ConfigError
        ) as error:  # a new error for each caller, because a traceback grows each time that it is raised
            raise type(error)(error.message, hint=error.hint) from None

    def _value(self, reference: Reference) -> str | None:
        if not reference.scheme:
            return self._environ.get(reference.name, self._dotenv_values().get(reference.name))
        if reference.scheme == "file":
            return self._file_value(reference)
        if self.resolve is None:
            hint = "It is needed before plugins are loaded. Write ${NAME} or ${file:path}."
            raise MissingSecret(f"{reference.text} has no value yet", hint=hint)
        return self.resolve(reference.scheme, reference.name)

    def _file_value(self, reference: Reference) -> str:
        path = self._folder / Path(reference.name).expanduser()
        file = self._files.setdefault(
            reference.name, CachedFile(path, lambda content: content.decode().rstrip("\r\n"), MAX_SECRET_FILE_BYTES)
        )
        try:
            return file.get()
        except OSError as error:
            raise MissingSecret(
                f"{reference.text} cannot be read: {error.strerror}", hint=f"Put the value into {path}."
            ) from None
        except ValueError:
            raise MissingSecret(f"{reference.text} is no text in UTF-8", hint=f"Put the value into {path}.") from None

    def _dotenv_values(self) -> dict[str, str]:
        """The variables of `.env`, read again when it changes, so that rotated values are picked up."""
        if self._dotenv is None or not os.path.lexists(self._dotenv.file):
            return {}
        try:
            return self._dotenv.get()
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"cannot be read: {error}", place=str(self._dotenv.file)) from None

    def variables(self, prefix: str) -> dict[str, str]:
        """The variables whose names start with `prefix`; the real environment wins over `.env`."""
        both = {**self._dotenv_values(), **self._environ}
        return {k: v for k, v in both.items() if k.startswith(prefix)}


def _variables(content: bytes) -> dict[str, str]:
    from io import StringIO

    from dotenv import dotenv_values

    values = dotenv_values(stream=StringIO(content.decode()), interpolate=False)
    return {k: v for k, v in values.items() if v is not None}


def _advice(reference: Reference) -> str:
    if not reference.scheme:
        return "Set it in .env or the environment."
    return f"Put it where {reference.scheme!r} looks for it." + (
        " Only variables have defaults." if ":-" in reference.name else ""
    )


class Template(ResolvedLater):
    """A string of the configuration whose references are resolved when it is used, not when it is read.

    A pydantic type for the `Settings` of drivers: `headers: dict[str, Template]`.
    """

    _is_credential = False

    def __init__(self, raw: str, secrets: Secrets | None = None, place: str = "") -> None:
        self.raw = raw
        self.place = place
        self._secrets = secrets or Secrets()

    def reveal(self) -> str:
        """The value now, for code that cannot await: see `get`. From now on, the values of its references are scrubbed
        from every output.

        Raises: MissingSecret, ConfigError.
        """
        return self._used(self._secrets.expand(self.raw, remember=True, credential=self._is_credential))

    async def get(self) -> str:
        """The value now. If a plugin must fetch it (a command, a keyring), nobody else waits for that.

        Raises: MissingSecret, ConfigError.
        """
        return self._used(await self._secrets.get(self.raw, credential=self._is_credential))

    def _used(self, value: str) -> str:
        for secret in self._literals:
            self._secrets.remember(secret)
        return value

    @cached_property
    def _literals(self) -> set[str]:
        """The secrets that the configuration file itself holds in this text."""
        from doorward.secrets.detection import literals

        return literals(self.raw, self.called)

    def remember(self, value: str) -> None:
        """Also scrub a value that was made from this one: an encoded header, a fetched token."""
        self._secrets.remember(value, of=f"made of {self.raw}", whose=Owner(is_credential=self._is_credential))

    def missing(self) -> str | None:
        """Why `reveal` would fail, or `None`."""
        error = self.trouble()
        return None if error is None else str(error)

    def trouble(self) -> ConfigError | None:
        """The error that `reveal` would raise, with its hint, or `None`."""
        try:
            self._secrets.expand(self.raw)
        except ConfigError as error:
            return error
        return None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.raw!r})"

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        from pydantic_core import core_schema

        def build(value: Any, handler: Callable[[Any], str], info: ValidationInfo) -> Template:
            if isinstance(value, cls):  # from the settings of another plugin
                return value
            context = info.context or {}
            return cls(handler(value), context.get("secrets"), context.get("place", ""))

        return core_schema.with_info_wrap_validator_function(
            build,
            core_schema.str_schema(),
            serialization=core_schema.plain_serializer_function_ser_schema(lambda t: repr(t)),
        )


class Secret(Template):
    """A `Template` that is a credential: the whole value is scrubbed, even if the file holds it literally."""

    _is_credential = True

    def _used(self, value: str) -> str:
        self.remember(value)
        return super()._used(value)

    @property
    def literal(self) -> bool:
        """Whether the configuration file holds the credential itself; `doctor` warns about that."""
        return not references.has_references(self.raw)

    def __repr__(self) -> str:
        try:  # A default may be a credential too.
            shown = references.replace(
                self.raw, lambda r: f"${{{r.scheme}:{r.name}}}" if r.scheme else f"${{{r.name}}}"
            )
        except MissingSecret:
            return f"Secret({REDACTED})"
        return f"Secret({REDACTED if self.literal else repr(shown)})"
