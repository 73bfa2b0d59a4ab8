"""How `${…}` is written: `${NAME}`, `${NAME:-default}`, `${scheme:name}`; `$${` is a plain `${`, also within a reference.

A scheme's name ends at the brace that closes the reference: blanks, quotes, colons and `:-` are parts of it, and so are braces in pairs
(two levels deep). It has no default, and references are not nested.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from doorward.errors import MissingSecret

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
    """Whether the value of a variable of this name is scrubbed wherever it is used, be it in a setting that is no credential."""
    return bool(_CREDENTIAL.search(variable))


def has_references(text: str) -> bool:
    """Whether anything in a text is to be replaced."""
    return _REFERENCE.search(text) is not None


def find(text: str) -> Iterator[Reference]:
    """The references of a text. Raises: MissingSecret if something in it is none."""
    return (_read(match) for match in _REFERENCE.finditer(text) if match[0] != "$${")


def replace(text: str, value: Callable[[Reference], str]) -> str:
    """The text with `value` in place of each reference. Raises: MissingSecret if something in it is none."""
    return _REFERENCE.sub(lambda match: "${" if match[0] == "$${" else value(_read(match)), text)


def _read(match: re.Match[str]) -> Reference:
    name, default = match["ref"] or match["name"] or "", match["default"]
    if match["odd"] or "${" in f"{name} {default}".replace("$${", ""):  # the text itself may be a password
        raise MissingSecret(
            "a ${…} in it is no reference",
            hint="Write ${NAME}, ${NAME:-default} or ${scheme:name}, none within another, braces in pairs; $${ is a plain ${.",
        )
    return Reference(match[0], match["scheme"] or "", name.replace("$${", "${"), default and default.replace("$${", "${"))
