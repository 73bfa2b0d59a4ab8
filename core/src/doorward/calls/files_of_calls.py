"""The files that a call sends, in the place of their handles."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from doorward.calls import files
from doorward.model.calls import File
from doorward.model.errors import InvalidArguments, LimitExceeded

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

    opened = files.opened(call.function, call.arguments, want)
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

        opened = files.opened(call.function, call.arguments, get, lambda uri: not isinstance(found[uri], File))
    return call if opened is call.arguments else replace(call, arguments=opened, given=call.arguments)
