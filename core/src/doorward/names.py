"""What upstreams call things → Python names. The same rule for every source, so that names can be guessed."""

from __future__ import annotations

import builtins
import hashlib
import keyword
import re
import unicodedata
from collections.abc import Iterable

_TAKEN = {*keyword.kwlist, *keyword.softkwlist, *dir(builtins)} - {"_", "type", "id", "format", "filter", "range", "input", "hash", "match", "case"}
"""Names that a function may not hide. Everyday parameter names that happen to be builtins are left alone."""


def python_name(text: str, *, fallback: str = "unnamed") -> str:
    """A snake_case ASCII identifier: `getForecast` → `get_forecast`, `repos/list-tags` → `repos_list_tags`.

    Keywords and builtins get a trailing underscore, a leading digit a leading one.
    """
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    if not re.search(r"[A-Za-z0-9]", plain):
        plain = f"{fallback}_{_digest(text)}" if text else fallback
    apart = re.sub(r"([A-Z]+)([A-Z][a-z])", r"\1_\2", plain)
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
        name = python_name(text)
        if name in taken:
            name = f"{name}_{_digest(text)}"
        names[text] = name
        taken.add(name)
    return names


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:4]
