"""What an answer or an error passes before a program sees it: result guards, the size limit, redaction."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from doorward.calls import answers
from doorward.calls.artefacts import handle_to
from doorward.calls.refusals import class_refused
from doorward.data.offload import done, is_large
from doorward.host.logs import log
from doorward.model.errors import DoorwardError, GuardRefused, ServerError
from doorward.model.types import Call, File, Function, Reply
from doorward.secrets.scrubber import MAX_MESSAGE_CHARACTERS, Scope, redact_error

if TYPE_CHECKING:
    from doorward.calls.call_context import CallContext
    from doorward.calls.withholding import Withholding
    from doorward.catalog.catalog import Catalog
    from doorward.plugins.manager import Plugins
    from doorward.secrets.redaction import Redactor
    from doorward.secrets.store import Secrets


class AnswerChecks:
    """The checks of one gateway. What holds a credential that the program wrote itself raises SecretWithheld."""

    def __init__(self, catalog: Catalog, plugins: Plugins, secrets: Secrets, withholding: Withholding) -> None:
        self._catalog = catalog
        self._plugins = plugins
        self._secrets = secrets
        self._withholding = withholding

    async def value(self, call: Call, reply: Reply, run: CallContext, scope: Scope) -> tuple[Any, int]:
        """The value of a reply as a program may see it, and its size in bytes.

        Raises: GuardRefused, LimitExceeded, SecretWithheld.
        """
        result = reply.value
        if refusal := self._plugins.hook.guard_result(call=call, result=result):
            raise GuardRefused(f"{call.function.qualified}: {refusal}")
        if isinstance(result, bytes):
            result = File(result, reply.type, reply.name)
        large = is_large(result)
        redactor = self._secrets.redactor(scope)
        answer = await done(
            answers.read, result, call.function.qualified, run.program.limits.result_bytes, redactor, large=large
        )
        await self._withhold_guess(call, answer.secrets, redactor)
        for place, file in answer.files:
            artefact = run.hold(file.content, file.type, file.name)
            place.update(handle_to(artefact))
        return answer.value, answer.size

    async def next_arguments(
        self, call: Call, arguments: Mapping[str, Any] | None, scope: Scope
    ) -> Mapping[str, Any] | None:
        """The arguments of the next page without credentials: an error about them would show a program what it did not
        write itself.

        Raises: SecretWithheld.
        """
        new = {
            name: value
            for name, value in (arguments or {}).items()
            if name not in call.arguments or call.arguments[name] != value
        }
        if not new:
            return arguments
        redactor = self._secrets.redactor(scope)
        await self._withhold_guess(call, answers.secrets_in(new, redactor), redactor)
        return {**(arguments or {}), **redactor.value(new)}

    async def error(self, call: Call, raised: Exception, scope: Scope) -> DoorwardError:
        """The error that a program gets for one that the source raised.

        Raises: SecretWithheld.
        """
        error = raised if isinstance(raised, DoorwardError) else self.defect(call.function, raised)
        redactor = self._secrets.redactor(scope)
        said = [error.message, error.hint, getattr(error, "body", None)]
        large = is_large(said)
        await self._withhold_guess(call, await done(answers.secrets_in, said, redactor, large=large), redactor)
        await done(redact_error, error, redactor, large=large)
        if not error.hint:
            definitions = partial(self._catalog.definition, call.function.server)
            error.hint = class_refused(call.function, error, definitions) or None
        return error

    def defect(self, function: Function, error: Exception) -> ServerError:
        """The error in place of one that no source should raise: the call fails, nothing else does."""
        log.error(
            "source_defect",
            function=function.qualified,
            error=self._secrets.scrub(repr(error))[:MAX_MESSAGE_CHARACTERS],
        )
        return ServerError(
            f"{function.qualified} failed inside Doorward: {type(error).__name__}",
            hint="Tell the operator: the log has the details.",
        )

    async def _withhold_guess(self, call: Call, found: set[int], redactor: Redactor) -> None:
        """Withhold an answer that would show a program whether it has guessed a credential.

        Raises: SecretWithheld.
        """
        found = found & redactor.credentials
        if found and found & await done(answers.secrets_in, call.arguments, redactor, large=is_large(call.arguments)):
            raise self._withholding.withheld(
                call.principal, f"the answer of {call.function.qualified}", call.function.server
            )
