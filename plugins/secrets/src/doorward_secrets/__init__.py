"""The secret schemes `keyring` and `cmd`: values from the keyring of the operating system, and from commands."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import subprocess
import threading
from typing import TYPE_CHECKING, Any

from doorward import ConfigError, MissingSecret, Settings, hookimpl
from pydantic import Field, NonNegativeFloat, PositiveFloat

from doorward_secrets.cached_values import CachedValues

if TYPE_CHECKING:
    from doorward import PluginContext

PLUGIN_API = 1
MAX_OUTPUT_BYTES = 64 * 1024
"""How much a command may print."""


class KeyringSettings(Settings):
    """`[hooks.keyring]`"""

    timeout: PositiveFloat = Field(10.0, description="Seconds that the keyring may take")
    ttl: NonNegativeFloat = Field(60.0, description="Seconds that a value is used before the keyring is asked again")


class Keyring:
    """`${keyring:service/user}`"""

    Settings = KeyringSettings

    def __init__(self, context: PluginContext[KeyringSettings]) -> None:
        self._timeout = context.settings.timeout
        self._values = CachedValues(context.settings.ttl, self._ask)
        self._waiting: dict[str, _Asking] = {}

    @hookimpl
    def resolve_secret(self, scheme: str, name: str) -> str | None:
        return self._values.get(name) if scheme == "keyring" else None

    def _ask(self, name: str) -> str:
        """Raises: ConfigError, MissingSecret."""
        service, slash, user = name.rpartition("/")
        if not (service and slash and user):
            raise ConfigError("${keyring:…} names no service and user", hint="Write ${keyring:service/user}.")
        # A locked keyring may wait for a person who is not there. One such thread is enough.
        asking = self._waiting.get(name) or _Asking(service, user)
        self._waiting[name] = asking
        asking.join(self._timeout)
        if asking.is_alive():
            raise ConfigError(
                f"the keyring did not answer within {self._timeout:g} s",
                hint="Is it locked? Unlock it, or use ${file:…} or ${cmd:…}.",
            )
        del self._waiting[name]
        if asking.error is not None:
            hint = (
                "Is there one, and is it unlocked? `python -m keyring diagnose` tells. "
                "Without a desktop, use ${file:…} or ${cmd:…}."
            )
            raise ConfigError(f"the keyring cannot be used: {type(asking.error).__name__}", hint=hint)
        if asking.value is None:
            raise MissingSecret(
                f"the keyring has nothing for {user!r} of {service!r}",
                hint=f"keyring set {shlex.quote(service)} {shlex.quote(user)}",
            )
        return asking.value


class _Asking(threading.Thread):
    """One request to the keyring, abandoned if it does not return."""

    def __init__(self, service: str, user: str) -> None:
        super().__init__(name="keyring", daemon=True)
        self._about = service, user
        self.value: str | None = None
        self.error: Exception | None = None
        self.start()

    def run(self) -> None:
        try:
            import keyring

            self.value = keyring.get_password(*self._about)
        except Exception as error:  # backends raise errors of any kind
            self.error = error


class CommandSettings(Settings):
    """`[hooks.cmd]`"""

    timeout: PositiveFloat = Field(10.0, description="Seconds that a command may take")
    ttl: NonNegativeFloat = Field(300.0, description="Seconds that a value is used before the command is run again")


class Command:
    """`${cmd:program argument …}`"""

    Settings = CommandSettings

    def __init__(self, context: PluginContext[CommandSettings]) -> None:
        self._timeout = context.settings.timeout
        self._values = CachedValues(context.settings.ttl, self._run)

    @hookimpl
    def resolve_secret(self, scheme: str, name: str) -> str | None:
        return self._values.get(name) if scheme == "cmd" else None

    def _run(self, name: str) -> str:
        """The output of a command. Errors show its first word only: others may be secret.

        Raises: ConfigError, MissingSecret.
        """
        try:
            words = shlex.split(name)
        except ValueError as error:
            raise ConfigError(f"${{cmd:…}} is no command line: {error}", hint="Quote it as for a shell.") from None
        if not words:
            raise ConfigError("${cmd:…} names no program", hint="Write ${cmd:program argument …}.")
        what, advice = f"the command {words[0]!r} of ${{cmd:…}}", "Run it by hand, and see what it says."
        status, output = self._output(words, what)
        if status is None:
            raise ConfigError(
                f"{what} did not end within {self._timeout:g} s",
                hint=f"{advice} [hooks.cmd] timeout gives it more time.",
            )
        if len(output) > MAX_OUTPUT_BYTES:
            raise ConfigError(f"{what} prints more than {MAX_OUTPUT_BYTES // 1024} KiB", hint=advice)
        if status != 0:
            raise ConfigError(f"{what} failed with exit code {status}", hint=advice)
        try:
            value = output.decode().strip()
        except UnicodeDecodeError:
            raise ConfigError(f"{what} prints what is no text in UTF-8", hint=advice) from None
        if not value:
            raise MissingSecret(f"{what} prints nothing", hint=advice)
        return value

    def _output(self, words: list[str], what: str) -> tuple[int | None, bytes]:
        """The exit code (None if it took too long) and the output of a command. No process that it started is
        left. Raises: ConfigError."""
        given: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        try:
            process = subprocess.Popen(words, start_new_session=True, **given)  # noqa: S603 - the operator's own words, without a shell
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or "it cannot be a command"
            raise ConfigError(f"{what} cannot be started: {why}", hint="Is it installed, and in PATH?") from None
        reader = _Reading(process.stdout)
        reader.join(self._timeout)
        try:
            if reader.content is None or len(reader.content) > MAX_OUTPUT_BYTES:
                return (None if reader.content is None else 0), reader.content or b""
            return process.wait(self._timeout), reader.content
        except subprocess.TimeoutExpired:  # it has closed its output but goes on
            return None, b""
        finally:
            _end(process)


class _Reading(threading.Thread):
    """Reads the output of a process, up to a size; abandoned if another process keeps the pipe open."""

    def __init__(self, pipe: Any) -> None:
        super().__init__(name="command", daemon=True)
        self._pipe = pipe
        self.content: bytes | None = None
        self.start()

    def run(self) -> None:
        with self._pipe:
            self.content = self._pipe.read(MAX_OUTPUT_BYTES + 1)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill the process and the processes that it has started."""
    if hasattr(os, "killpg"):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    process.wait()
