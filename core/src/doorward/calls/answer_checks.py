"""What an answer or an error passes before a program sees it: plugins that change it, result guards, the size limit,
redaction."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from doorward.calls.artefacts import MAX_FILES, base_name, handle_to, named_in
from doorward.data.frozen import frozen
from doorward.data.headers import shown_headers
from doorward.data.json_writing import MAX_PARTS, dump, exceeds, in_one_piece
from doorward.data.offload import done, is_large, off_loop
from doorward.data.values import plain
from doorward.host.logs import log
from doorward.model.calls import Call, File, Reply
from doorward.model.errors import DoorwardError, GuardRefused, LimitExceeded, PluginError, ServerError, StateError
from doorward.model.functions import Function
from doorward.plugins.failures import kind_of, said
from doorward.plugins.hook_answers import Unfit, odd_part, unfit
from doorward.plugins.result_changes import changed
from doorward.secrets.redaction import Redactor
from doorward.secrets.scrubber import MAX_MESSAGE_CHARACTERS, Scope, redact_error
from doorward.secrets.variants import as_bytes

if TYPE_CHECKING:
    from doorward.calls.call_context import CallContext
    from doorward.calls.withholding import Withholding
    from doorward.catalog.catalog import Catalog
    from doorward.plugins.manager import Plugins
    from doorward.secrets.store import Secrets
    from doorward.servers.registry import Servers

_MAX_NAME_CHARS = 200
"""Characters of a file's name."""


@dataclass(slots=True)
class Answer:
    """A plain value; its size in bytes; the files in it, each with the empty dictionary that takes its place; the
    numbers of the credentials that were taken out of it; the URIs of files that stand in its data."""

    value: Any = None
    size: int = 0
    files: list[tuple[dict[str, Any], File]] = field(default_factory=list)
    secrets: set[int] = field(default_factory=set)
    uris: list[str] = field(default_factory=list)


def read(result: Any, function: str, most_bytes: int, redactor: Redactor) -> Answer:
    """A result as a program may see it. Raises: LimitExceeded."""
    if exceeds(result, MAX_PARTS):
        raise LimitExceeded(f"{function} answered more than {MAX_PARTS:,} values", hint="Ask for less: pages, filters.")
    return _read(result, function, most_bytes, redactor, dump)


def read_small(result: Any, function: str, most_bytes: int, redactor: Redactor) -> Answer:
    """The same for a result that is not large."""
    return _read(result, function, most_bytes, redactor, in_one_piece)


def _read(result: Any, function: str, most_bytes: int, redactor: Redactor, write: Callable[[Any], bytes]) -> Answer:
    answer = Answer()

    def held(file: File) -> dict[str, Any]:
        if len(answer.files) >= MAX_FILES:
            raise LimitExceeded(f"{function} answered more than {MAX_FILES} files", hint="Ask for less at once.")
        answer.size += len(file.content)
        _check_size(function, answer.size, most_bytes)
        answer.files.append(({}, file))
        return answer.files[-1][0]

    answer.value = plain(result, keep=(int,), held=held)
    written = write(answer.value)
    _check_size(function, len(written), most_bytes)
    if not isinstance(result, File):
        answer.size += len(written)
    answer.uris = named_in(written)
    answer.secrets |= redactor.found(written)
    if answer.secrets:
        answer.value = redactor.value(answer.value)
    for number, (place, file) in enumerate(answer.files):
        answer.files[number] = place, _clean(file, answer.secrets, redactor)
    return answer


def _clean(file: File, secrets: set[int], redactor: Redactor) -> File:
    """A file without credentials, whose numbers are added to `secrets`."""
    found = redactor.found(file.content)
    secrets |= found | _in_name(file, redactor)
    return replace(
        file,
        content=redactor.content(file.content) if found else file.content,
        type=redactor.text(file.type) or "application/octet-stream",
        name=base_name(redactor.text(file.name)[:_MAX_NAME_CHARS]),
    )


def _check_size(function: str, size: int, most: int) -> None:
    if size > most:
        raise LimitExceeded(
            f"{function} answered {size} bytes, more than {most}", hint="Ask for less: pages, filters, fields."
        )


def secrets_in(arguments: Any, redactor: Redactor) -> set[int]:
    """The numbers of the credentials in the arguments of a call, files included."""
    files: list[File] = []
    written = dump(plain(arguments, held=files.append))
    return redactor.found(written).union(*(redactor.found(file.content) | _in_name(file, redactor) for file in files))


def _in_name(file: File, redactor: Redactor) -> set[int]:
    return redactor.found(as_bytes(f"{file.type} {file.name}"))


_COMMON = frozenset((dict, list, str, int, float, bool, bytes, type(None)))
"""The types of most answers."""

_HELD_BYTES = 2**24
"""Bytes of files that a run may hold in memory before they are stored."""

_NO_HEADERS: Mapping[str, str] = MappingProxyType({})


class AnswerChecks:
    """The checks of one gateway. What holds a credential that the program wrote itself raises SecretWithheld."""

    def __init__(
        self, catalog: Catalog, servers: Servers, plugins: Plugins, secrets: Secrets, withholding: Withholding
    ) -> None:
        self._catalog = catalog
        self._servers = servers
        self._plugins = plugins
        self._secrets = secrets
        self._withholding = withholding
        self._guards = plugins.hook.guard_result.get_hookimpls

    async def reply(
        self, call: Call, reply: Reply, run: CallContext, scope: Scope, *, headers: bool
    ) -> tuple[Reply, int]:
        """A reply as a program may see it, with the `headers` of the answer if they are wanted; and the bytes of it.

        Raises: GuardRefused, LimitExceeded, SecretWithheld.
        """
        value, size = await self._value(call, reply, run, scope)
        shown, more, left, following = _NO_HEADERS, 0, "", reply.next
        if headers:
            shown, more = await self._value(call, Reply(shown_headers(reply.headers)), run, scope, of=dict)
        if reply.left:
            left, _ = await self._value(call, Reply(reply.left), run, scope, of=str)
        if following is not None:
            following = await self._next_arguments(call, following, scope)
        about = (
            following,
            reply.link,
            left,
            reply.items,
            reply.status,
            shown,
        )  # a file's type and name are in its handle
        return Reply(value, "", "", *about, size), size + more

    async def _value(
        self, call: Call, reply: Reply, run: CallContext, scope: Scope, *, of: type = object
    ) -> tuple[Any, int]:
        """The value of a reply as a program may see it, and its size in bytes. `of` is the type that it must keep."""
        value = reply.value
        result = self._changed(call, File(value, reply.type, reply.name) if isinstance(value, bytes) else value)
        if not isinstance(result, of):
            raise GuardRefused(f"{call.function.qualified}: a plugin made a {type(result).__name__} of a {of.__name__}")
        if self._guards():
            await self._guard(call, result.content if isinstance(value, bytes) and isinstance(result, File) else result)
        if isinstance(result, bytes):
            result = File(result, reply.type, reply.name)
        redactor, most = self._secrets.redactor(scope), run.program.limits.result_bytes
        if is_large(result):
            answer = await off_loop(read, result, call.function.qualified, most, redactor)
        else:
            answer = read_small(result, call.function.qualified, most, redactor)
        if answer.secrets:
            await self._withhold_guess(call, answer.secrets, redactor)
        if answer.uris:
            run.note_upstream_uris(answer.uris)
        for place, file in answer.files:
            artefact = run.hold(file.content, file.type, file.name)
            place.update(handle_to(artefact))
        if answer.files:
            try:
                await run.store_files(above=_HELD_BYTES)
            except StateError:
                if call.function.read_only:  # else the call was made, and must not be taken for one that was not
                    raise
        return answer.value, answer.size

    async def _next_arguments(self, call: Call, arguments: Mapping[str, Any], scope: Scope) -> Mapping[str, Any]:
        """The arguments of the next page without credentials: an error about them would show a program what it did not
        write itself.

        Raises: SecretWithheld.
        """
        new = {
            name: value
            for name, value in arguments.items()
            if name not in call.arguments or call.arguments[name] != value
        }
        if not new:
            return arguments
        redactor = self._secrets.redactor(scope)
        await self._withhold_guess(call, secrets_in(new, redactor), redactor)
        return {**arguments, **redactor.value(new)}

    async def of_source(self, call: Call, error: DoorwardError) -> DoorwardError:
        """An error that the source raised on purpose, as plugins leave it: it holds words of the upstream.

        Raises: GuardRefused.
        """
        if not (isinstance(error.message, str) and isinstance(error.hint, (str, type(None)))):
            return self.defect(call.function, Unfit(f"it raised {type(error).__name__} with a message that is no text"))
        error = self._changed(call, error)
        if self._guards():
            more = {name: getattr(error, name, None) for name in ("hint", "status", "body")}
            said = {"error": error.message} | {name: part for name, part in more.items() if part is not None}
            await self._guard(call, said)
        return error

    def _changed(self, call: Call, result: Any) -> Any:
        try:
            return changed(self._plugins.manager, call, result)
        except PluginError as error:
            raise GuardRefused(f"{call.function.qualified}: {error}", hint=error.hint) from None

    async def _guard(self, call: Call, result: Any) -> None:
        result = await done(frozen, result, large=is_large(result))
        if (refusal := self._plugins.hook.guard_result(call=call, result=result)) is not None:
            raise GuardRefused(f"{call.function.qualified}: {refusal.signed}")

    async def error(self, call: Call, raised: Exception, scope: Scope, language: str) -> DoorwardError:
        """The error that a program of this language gets for one that the source raised.

        Raises: SecretWithheld.
        """
        error = raised if isinstance(raised, DoorwardError) else self.defect(call.function, raised)
        redactor = self._secrets.redactor(scope)
        said = [error.message, error.hint, getattr(error, "body", None)]
        large = is_large(said)
        await self._withhold_guess(call, await done(secrets_in, said, redactor, large=large), redactor)
        await done(redact_error, error, redactor, large=large)
        if not error.hint:
            definitions = partial(self._catalog.definition, call.function.server)
            error.hint = self._catalog.texts.refused(call.function, error, definitions, language) or None
        return error

    def defect(self, function: Function, error: Exception) -> ServerError:
        """The error in place of one that no source should raise: the call fails, nothing else does."""
        source = self._servers.called(function.server)
        self._log("source_defect", function, error, plugin=source, method="call")
        return _inside(f"{function.qualified} failed in {source}: {kind_of(error)}")

    def our_defect(self, function: Function, error: Exception) -> ServerError:
        """The same for an error before the source was asked, or after it answered."""
        self._log("call_defect", function, error)
        return _inside(f"{function.qualified} failed inside Doorward: {type(error).__name__}")

    def _log(self, event: str, function: Function, error: Exception, **whose: str) -> None:
        what = self._secrets.scrub(said(error))[:MAX_MESSAGE_CHARACTERS]
        log.error(event, function=function.qualified, **whose, error=what)

    async def _withhold_guess(self, call: Call, found: set[int], redactor: Redactor) -> None:
        """Withhold an answer that would show a program whether it has guessed a credential.

        Raises: SecretWithheld.
        """
        found = found & redactor.credentials
        if found and found & await done(secrets_in, call.arguments, redactor, large=is_large(call.arguments)):
            raise await self._withholding.withheld(
                call.principal, f"the answer of {call.function.qualified}", call.function.server
            )


def to_reply(result: Any) -> Reply:
    """What a source answered, as a reply. Raises: Unfit if it is nothing that a program could get."""
    if type(result) in _COMMON:
        return Reply(result)
    reply = result if isinstance(result, Reply) else Reply(result)
    if not _is_well_formed(reply):
        raise Unfit(f"it answered Reply{odd_part(reply)}")
    if isinstance(reply.value, (type, Reply, BaseException, Awaitable, Iterator, AsyncIterator)) or callable(
        reply.value
    ):
        raise unfit(reply.value, "JSON, bytes or a Reply")
    return reply


def _is_well_formed(reply: Reply) -> bool:
    """Whether what a source says of its answer has the types that it must have. (`odd_part` is slow.)"""
    texts = isinstance(reply.type, str) and isinstance(reply.name, str) and isinstance(reply.link, str)
    return (
        texts
        and isinstance(reply.left, str)
        and (reply.next is None or isinstance(reply.next, Mapping))
        and (reply.status is None or isinstance(reply.status, int))
        and isinstance(reply.items, (tuple, list))
        and isinstance(reply.headers, Mapping)
    )


def _inside(message: str) -> ServerError:
    return ServerError(message, hint="Tell the operator: the log has the details.")
