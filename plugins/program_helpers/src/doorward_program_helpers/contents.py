"""What is in a file, as a program reads it."""

from __future__ import annotations

import contextlib
import re
from typing import TYPE_CHECKING, Any

from doorward import LimitExceeded
from doorward.texts import exceeds
from doorward_json import decoded, read_json, values_in

if TYPE_CHECKING:
    from doorward import File

MAX_PARTS = 1_000_000
"""Values in a file of JSON."""

_JSON_TYPE = re.compile(r"[\w.+-]+/(?:[\w.+-]+\+)?json")
_CHARSET = re.compile(r"(?i);\s*charset=((?:utf|us-|iso-|windows-|shift_|euc-|gb|big5|koi8)[\w-]{0,30})\s*\Z", re.ASCII)
"""The charset in a media type, if it is a usual one: some codecs take time that grows with the square of the length."""

_TEXT_TYPE = re.compile(
    r"text/.*|application/(?:[\w.+-]+\+)?(?:json|xml|(?:x-)?yaml|(?:x-)?ndjson|jsonl|csv|javascript|sql|toml)"
)


def content_of(file: File) -> Any:
    """The content of a file: JSON as its value, text as text, anything else as bytes. Raises: LimitExceeded."""
    kind = file.type.partition(";")[0].strip().lower()
    if _JSON_TYPE.fullmatch(kind):
        crowded = values_in(file.content, MAX_PARTS) > MAX_PARTS
        with contextlib.suppress(ValueError):
            if not crowded and not exceeds(value := read_json(file.content), MAX_PARTS):
                return value
            raise LimitExceeded(f"the file has more than {MAX_PARTS:,} values", hint="Pass its handle on instead.")
    if not _TEXT_TYPE.fullmatch(kind):
        return file.content
    named = _CHARSET.search(file.type)
    with contextlib.suppress(LookupError, ValueError):
        return decoded(file.content, named[1] if named else "utf-8")
    return decoded(file.content)
