"""How `${…}` is written: `${NAME}`, `${NAME:-default}`, `${scheme:name}`; `$${` is a plain `${`, also within a
reference.

A scheme's name ends at the brace that closes the reference: blanks, quotes, colons and `:-` are parts of it, and so are
braces in pairs (two levels deep). It has no default, and references are not nested.

Text of strangers gets into a configuration by `escaped` or `joined`, and by nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
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
    """Whether the value of a variable of this name is scrubbed wherever it is used, be it in a setting that is no
    credential."""
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


def is_plain(text: str) -> bool:
    """Whether a text, as it is written, has no reference and nothing that looks like a broken one: `$${` may be in
    it."""
    return all(match[0] == "$${" for match in _REFERENCE.finditer(text))


def escaped(text: str) -> str:
    """Any text as it is written so that it stands for itself: replacing gives it back, and resolves nothing."""
    return text.replace("${", "$${")


def unescaped(text: str) -> str:
    """What a text without references stands for."""
    return text.replace("$${", "${")


def to_variable(name: str, default: str | None = None) -> Reference:
    """`${NAME}`, or with a default that stands for itself. Raises: ValueError if that cannot be written."""
    text = f"${{{name}}}" if default is None else f"${{{name}:-{escaped(default)}}}"
    made = Reference(text, "", name, default)
    try:
        if [*find(text)] == [made]:
            return made
    except MissingSecret:
        pass
    raise ValueError("holds a variable with a name or a default that cannot be written")


def joined(parts: Iterable[str | Reference]) -> str:
    """Texts that stand for themselves, and references between them, as one text. Raises: ValueError for what cannot be
    written: a `$` right before a reference would escape it."""
    made = plain = ""
    for part in parts:
        if isinstance(part, str):
            plain += part
        elif plain.endswith("$"):
            raise ValueError("holds a $ right before a variable, which cannot be written")
        else:
            made, plain = made + escaped(plain) + part.text, ""
    return made + escaped(plain)


def split(text: str) -> Iterator[tuple[str, bool]]:
    """A text in pieces, and whether each is a reference: as it is written, so that the pieces make up the text."""
    start = 0
    for match in _REFERENCE.finditer(text):
        if match[0] != "$${":
            yield text[start : match.start()], False
            yield match[0], True
            start = match.end()
    yield text[start:], False


def _read(match: re.Match[str]) -> Reference:
    name, default = match["ref"] or match["name"] or "", match["default"]
    if match["odd"] or "${" in f"{name} {default}".replace("$${", ""):  # the text itself may be a password
        raise MissingSecret(
            "a ${…} in it is no reference",
            hint="Write ${NAME}, ${NAME:-default} or ${scheme:name}, none within another, braces in pairs; $${ is a "
            "plain ${.",
        )
    return Reference(
        match[0], match["scheme"] or "", name.replace("$${", "${"), default and default.replace("$${", "${")
    )
