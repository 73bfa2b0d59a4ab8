"""What upstreams call things → Python names. The same rule for every source, so that names can be guessed."""

from __future__ import annotations

import builtins
import hashlib
import keyword
import re
import unicodedata
from collections.abc import Iterable

_TAKEN = {*keyword.kwlist, *keyword.softkwlist, *dir(builtins)} - {
    "_",
    "type",
    "id",
    "format",
    "filter",
    "range",
    "input",
    "hash",
    "match",
    "case",
}
"""Names that a function may not hide. Everyday parameter names that happen to be builtins are left alone."""

_LONGEST = 400
"""Characters of an id that are looked at: a name is cut to 100."""


def python_name(text: str, *, fallback: str = "unnamed") -> str:
    """A snake_case ASCII identifier: `getForecast` → `get_forecast`, `repos/list-tags` → `repos_list_tags`.

    Keywords and builtins get a trailing underscore, a leading digit a leading one.
    """
    plain = unicodedata.normalize("NFKD", text[:_LONGEST]).encode("ascii", "ignore").decode()
    if not re.search(r"[A-Za-z0-9]", plain):
        plain = f"{fallback}_{_digest(text)}" if text else fallback
    apart = re.sub(r"([A-Z])(?=[A-Z][a-z])", r"\1_", plain)
    apart = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", apart)
    name = re.sub(r"[^a-z0-9]+", "_", apart.lower()).strip("_")[:100].rstrip("_")
    if name[0].isdigit():
        name = f"_{name}"
    return f"{name}_" if name in _TAKEN else name


def unique_names(ids: Iterable[str]) -> dict[str, str]:
    """A Python name for each id. Where two ids would share one, the one that comes first keeps it and the others
    carry a suffix made of their own id, so that a name depends on no third id."""
    names: dict[str, str] = {}
    taken: set[str] = set()
    for text in ids:
        if text in names:
            continue
        plain = name = python_name(text)
        again = ""
        while name in taken:
            name = f"{plain}_{_digest(text + again)}"
            again += "+"
        names[text] = name
        taken.add(name)
    return names


def qualified(text: str) -> str:
    """The catalog's name for what a person or another system writes: `my-api.x` and `mcp__my-api__x` are `my_api.x`,
    because a function carries the name by which programs import its server. In patterns, ranges (`[a-m]`) stay."""
    if text.startswith("mcp__"):
        text = text[5:].replace("__", ".", 1)
    server, dot, name = text.partition(".")
    return re.sub(r"-(?![^\[]*\])", "_", server) + dot + name


def is_plain(name: object) -> bool:
    """Whether this can be written as it is, as a parameter or a field. (Other alphabets Python would normalise.)"""
    if not isinstance(name, str) or len(name) > 110 or name == "__debug__":
        return False
    return name.isascii() and name.isidentifier() and not keyword.iskeyword(name)


def class_name(text: str) -> str:
    """`nullable-simple-user` → `NullableSimpleUser`; of a dotted name, the last part."""
    parts = re.findall(r"[A-Za-z0-9]+", text[:_LONGEST].rstrip(".").rpartition(".")[2])
    name = "".join(part[0].upper() + part[1:] for part in parts)[:60]
    return name if name[:1].isalpha() and not keyword.iskeyword(name) else f"Model{name}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:4]
