"""Files in the arguments of a call: passed by the handles of artefacts. Which parameters take one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from doorward.data.values import MAX_DEPTH
from doorward.model.calls import File
from doorward.model.errors import InvalidArguments, LimitExceeded
from doorward.model.functions import Function
from doorward.model.programs import ARTEFACT_URI

if TYPE_CHECKING:
    from doorward.calls.call_context import CallContext
    from doorward.model.calls import Call


async def with_files(call: Call, run: CallContext) -> Call:
    """The call with a file in the place of each handle.

    Raises: InvalidArguments, LimitExceeded, StateError.
    """
    wanted: Counter[str] = Counter()

    def want(uri: str) -> File:
        wanted[uri] += 1
        return File(b"")

    arguments = opened(call.function, call.arguments, want)
    if wanted:
        size, most = 0, run.program.limits.result_bytes
        found: dict[str, File | InvalidArguments] = {}
        for uri, times in wanted.items():
            try:
                file = found[uri] = await run.open(uri)
            except InvalidArguments as error:
                if not await run.is_foreign(uri):
                    raise
                found[uri] = error  # it may be data, which only looks like a handle
                continue
            size += times * len(file.content)
            if size > most:
                raise LimitExceeded(f"the files of a call have more than {most} bytes", hint="Send less at once.")

        def get(uri: str) -> File:
            if isinstance(file := found[uri], InvalidArguments):
                raise file
            return file

        arguments = opened(call.function, call.arguments, get, lambda uri: not isinstance(found[uri], File))
    return call if arguments is call.arguments else replace(call, arguments=arguments, given=call.arguments)


def handle(value: Any) -> str | None:
    """The URI in `{"artefact": "doorward://results/…", "type": …, "bytes": …, "name": …}`; `None` if the value is no
    handle."""
    match value:
        case {"artefact": str() as uri, **about} if uri.startswith(ARTEFACT_URI) and about.keys() <= {
            "type",
            "bytes",
            "name",
        }:
            return uri
    return None


def opened(
    function: Function,
    arguments: Mapping[str, Any],
    open: Callable[[str], File],
    is_foreign: Callable[[str], bool] = lambda _: False,
) -> Mapping[str, Any]:
    """The arguments of a call with a `File` in the place of each handle, `{"artefact": "doorward://results/…"}`; the
    same object if nothing in them can be one.

    Where the function takes bytes, a bare URI and `{"content": bytes or text, "name"?, "type"?}` become files, too;
    elsewhere they may be ordinary values. `open` gets the file of a URI; the handle may give it a name and another
    type. What only looks like a handle, because an upstream wrote its URI (`is_foreign`), stays what it is.
    """
    if not any(_may_be_file(value) for value in arguments.values()):
        return arguments
    properties = function.parameters.get("properties", {})

    def read(value: Any, bytes_there: bool, depth: int = 0) -> Any:
        if (uri := handle(value)) is not None and (bytes_there or not is_foreign(uri)):
            file = open(uri)
            return replace(file, type=str(value.get("type") or file.type), name=str(value.get("name") or file.name))
        match value:
            case str() if bytes_there and value.startswith(ARTEFACT_URI):
                return open(value)
            case {"content": str() | bytes() as content, **about} if bytes_there and about.keys() <= {"name", "type"}:
                content = content.encode(errors="replace") if isinstance(content, str) else content
                return File(content, str(about.get("type") or ""), str(about.get("name") or ""))
            case dict() if depth < MAX_DEPTH:
                return {k: read(v, False, depth + 1) for k, v in value.items()}
            case list() if depth < MAX_DEPTH:
                return [read(v, bytes_there, depth + 1) for v in value]
        return value

    return {name: read(value, takes_bytes(properties.get(name))) for name, value in arguments.items()}


def _may_be_file(value: Any) -> bool:
    return isinstance(value, (dict, list)) or (isinstance(value, str) and value.startswith(ARTEFACT_URI))


def takes_file(function: Function, name: str) -> bool:
    """Whether this parameter itself is a file."""
    schema = function.parameters.get("properties", {}).get(name)
    return any(part.get("format") == "binary" for part in _offered(schema))


def takes_bytes(schema: Any) -> bool:
    """Whether a parameter, or an item of its list, may be a file."""
    offered = _offered(schema)
    return any(part.get("format") == "binary" for each in offered for part in (each, *_offered(each.get("items"))))


def _offered(schema: Any) -> list[Mapping[str, Any]]:
    """A schema and its alternatives."""
    parts = (
        [schema, *schema["anyOf"]]
        if isinstance(schema, Mapping) and isinstance(schema.get("anyOf"), list)
        else [schema]
    )
    return [part for part in parts if isinstance(part, Mapping)]
