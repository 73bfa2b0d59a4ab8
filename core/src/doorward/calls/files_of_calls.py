"""The files that a call sends, in the place of their handles."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from doorward.calls import files
from doorward.model.errors import LimitExceeded

if TYPE_CHECKING:
    from doorward.calls.call_context import CallContext
    from doorward.model.calls import Call, File


def with_files(call: Call, run: CallContext) -> Call:
    """The call with a file in the place of each handle.

    Raises: InvalidArguments, LimitExceeded.
    """
    size, most = 0, run.program.limits.result_bytes

    def open(uri: str) -> File:
        nonlocal size
        file = run.open(uri)
        size += len(file.content)
        if size > most:
            raise LimitExceeded(f"the files of a call have more than {most} bytes", hint="Send less at once.")
        return file

    opened = files.opened(call.function, call.arguments, open, run.is_foreign)
    return call if opened is call.arguments else replace(call, arguments=opened, given=call.arguments)
