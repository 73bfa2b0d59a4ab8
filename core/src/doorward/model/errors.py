"""Every error that a person or an agent can meet, with its advice.

A message says what is wrong and where; `hint` says what to do. Messages never hold a secret: the text of
an upstream passes the scrubber before it becomes a message.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from doorward.model.functions import Suggestion
    from doorward.model.programs import Kind


class DoorwardError(Exception):
    """The base of all errors that Doorward raises on purpose.

    `kind` says who can mend it: the program's author (`program`, `guard`, `limit`), the operator (`policy`,
    `executor`, `config`) or the upstream (`server`).
    """

    kind: ClassVar[Kind] = "program"

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return self.message


class ConfigError(DoorwardError):
    """The configuration is wrong; `place` names the file and the key."""

    kind = "config"

    def __init__(self, message: str, *, place: str = "", hint: str | None = None) -> None:
        super().__init__(f"{place}: {message}" if place else message, hint=hint)
        self.place = place


class PluginError(ConfigError):
    """A plugin is missing, does not import, is given twice, or is made for another plugin API."""


class MissingSecret(ConfigError):
    """A `${…}` reference has no value where it was needed."""


class StateError(DoorwardError):
    """A file of the state folder cannot be used for now: it is locked or broken, or the disk is full."""

    kind = "config"


class UnknownName(DoorwardError):
    """No server, function, cached program, session or artefact has this name (or it is somebody else's)."""


class InvalidArguments(DoorwardError):
    """The arguments of a call do not fit the function's parameters; the hint shows the signature."""


class InvalidProgram(DoorwardError):
    """The program has an error of syntax, is too large, or does not have the given parameters. `type` is the exception
    that Python raises for that, `line` where it happened."""

    def __init__(self, message: str, *, hint: str | None = None, line: int | None = None, type: str = "") -> None:
        super().__init__(message, hint=hint)
        self.line = line
        self.type = type


class Refused(DoorwardError):
    """The operator's policy does not allow this. `rule` names the rule that decided, if one did."""

    kind = "policy"
    rule = ""


class GuardRefused(DoorwardError):
    """A guard plugin does not allow this."""

    kind = "guard"


class RefusedForNow(GuardRefused):
    """A guard lets nothing through for now, whatever it is: what must be recorded before a call cannot be, for example.
    A stored run stops before the call, and goes on with it when it is resumed."""


class SecretWithheld(GuardRefused):
    """An answer is withheld because it holds a credential that the program itself has written."""


class LimitExceeded(DoorwardError):
    """A limit (time, memory, calls, output, rate) ended this."""

    kind = "limit"


class RateLimited(LimitExceeded):
    """A server takes no more requests for now, for longer than the run may wait. `retry_after` are the seconds."""

    def __init__(self, message: str, *, retry_after: float, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.retry_after = retry_after


class Busy(LimitExceeded):
    """No sandbox became free in time: others use them, or the principal has the most allowed. Nothing has run."""


class ExecutorError(DoorwardError):
    """The sandbox could not be opened, or died."""

    kind = "executor"


class SandboxDied(ExecutorError):
    """The sandbox ended while a program ran in it: it crashed, or was killed from outside. The program may have had
    effects, so it never moves on to another executor."""


class Unsupported(ExecutorError):
    """This executor cannot run this program at all, but another one may. `line` is the line of the program that needs
    more, `module` the missing module if that is an import."""

    def __init__(self, message: str, *, hint: str | None = None, line: int | None = None, module: str = "") -> None:
        super().__init__(message, hint=hint)
        self.line = line
        self.module = module


class ServerError(DoorwardError):
    """The upstream could not be reached or did not answer properly. `auth` are suggestions, where the upstream refused
    because credentials are missing and said which."""

    kind = "server"
    auth: Sequence[Suggestion] = ()


class LoginRefused(ServerError):
    """The issuer of credentials refused, or no person has logged in yet: a new try with the same secrets is useless."""


class CannotAsk(ServerError):
    """The client cannot be asked such a thing at all: it does not declare that it can, or there is no way to it. Nobody
    was asked."""


class OutcomeUnknown(ServerError):
    """A call was sent, and its answer was lost: whether it was made is unknown, and a person said not to repeat it."""


class ProgramDiverged(DoorwardError):
    """A program that ran again, on the recorded answers of its run, made other calls than the first time."""


class ToolError(ServerError):
    """A tool of an upstream MCP server says that it failed (`isError`); the message is its text."""


class ApiError(ServerError):
    """An HTTP API answered with an error.

    `status` is the HTTP status code, `body` the decoded answer, `retry_after` the seconds to wait, where the API says
    so (RFC 9110 section 10.2.3).
    """

    def __init__(
        self,
        message: str,
        *,
        status: int,
        body: Any = None,
        retry_after: float | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message, hint=hint)
        self.status = status
        self.body = body
        self.retry_after = retry_after
