"""The syntax of `${…}`: `${NAME}`, `${NAME:-default}`, `${scheme:name}`; `$${` is a plain `${`, anywhere.

The name after a scheme ends at the brace that closes the reference. It may contain blanks, quotes, colons, `:-`, and
pairs of braces (two levels deep). It has no default, and references are not nested.

Untrusted text gets into a configuration only by `escaped`, alone or beside references.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from doorward.model.errors import MissingSecret

_INNER = r"(?:[^{}]|\{(?:[^{}]|\{[^{}]*+\})*+\})"
_REFERENCE = re.compile(
    rf"\$\$\{{|\$\{{(?:(?P<scheme>[a-z][a-z0-9_]*):(?!-)(?P<ref>{_INNER}++)|(?P<name>\w+)(?::-(?P<default>{_INNER}*+))?)\}}|(?P<odd>\$\{{)"
)
_CREDENTIAL = re.compile(r"(?i)key|token|secret|pass|pwd|credential|auth")


@dataclass(frozen=True, slots=True)
class Reference:
    """One `${…}`: `text` as it is written, and its parts. `scheme` is empty for a variable."""

    text: str
    scheme: str
    name: str
    default: str | None = None


def is_credential(variable: str) -> bool:
    """Whether the value of a variable with this name is always scrubbed, even in a setting that is not a credential."""
    return bool(_CREDENTIAL.search(variable))


def has_references(text: str) -> bool:
    """Whether a text has anything to replace."""
    return _REFERENCE.search(text) is not None


def find(text: str) -> Iterator[Reference]:
    """The references in a text. Raises: MissingSecret if one is malformed."""
    return (_read(match) for match in _REFERENCE.finditer(text) if match[0] != "$${")


def replace(text: str, value: Callable[[Reference], str]) -> str:
    """A text with the result of `value` in place of each reference. Raises: MissingSecret if one is malformed."""
    if "${" not in text:
        return text
    return _REFERENCE.sub(lambda match: "${" if match[0] == "$${" else value(_read(match)), text)


def is_plain(text: str) -> bool:
    """Whether a text has no reference, not even a malformed one. It may have `$${`."""
    return all(match[0] == "$${" for match in _REFERENCE.finditer(text))


def escaped(text: str) -> str:
    """A text escaped so that `replace` gives back the text and resolves nothing."""
    return text.replace("${", "$${")


def unescaped(text: str) -> str:
    """The meaning of a text without references: the reverse of `escaped`."""
    return text.replace("$${", "${")


def split(text: str) -> Iterator[tuple[str, bool]]:
    """The pieces of a text, unchanged, and whether each is a reference."""
    start = 0
    for match in _REFERENCE.finditer(text):
        if match[0] != "$${":
            yield text[start : match.start()], False
            yield match[0], True
            start = match.end()
    yield text[start:], False


def _read(match: re.Match[str]) -> Reference:
    name, default = match["ref"] or match["name"] or "", match["default"]
    if match["odd"] or "${" in f"{name} {default}".replace("$${", ""):  # not quoted below: it may be a password
        raise MissingSecret(
            "a ${…} in it is no reference",
            hint="Write ${NAME}, ${NAME:-default} or ${scheme:name}, none within another, braces in pairs; $${ is a "
            "plain ${.",
        )
    return Reference(
        match[0], match["scheme"] or "", name.replace("$${", "${"), default and default.replace("$${", "${")
    )
