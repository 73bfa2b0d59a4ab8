"""The lines of a configuration file that errors name."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

Keys = tuple[str | int, ...]


def line_of(file: Path, place: str, path: Sequence[str | int], *, missing: bool = False) -> int:
    """The line on which a key stands, that has this path in the table at a place: `doorward.toml [servers.github]` or
    `doorward.toml [servers.github] auth 2`. Of one that is `missing`, the line of what lacks it. 0 where the file has
    neither: it may come from elsewhere."""
    table = re.search(r"\[([^.\]]+)\.?(.*)\]", place)
    above: Keys = tuple(filter(None, table.groups())) if table else ()
    below = [int(word) - 1 if word.isdigit() else word for word in place.rpartition("]")[2].split()] if table else ()
    keys = (*above, *below, *path)
    try:
        lines = _lines(file.read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError):
        return 0
    least = max(1, len(keys) - len(path) + (not missing))
    return next((lines[keys[:n]] for n in range(len(keys), least - 1, -1) if keys[:n] in lines), 0)


def _lines(text: str) -> dict[Keys, int]:
    """The lines of all keys and tables of a TOML document, by their paths, with the number of a table in its list."""
    found: dict[Keys, int] = {}
    lists: Counter[Keys] = Counter()
    table: Keys = ()

    def numbered(names: Keys) -> Keys:
        path: Keys = ()
        for name in names:
            path = (*path, name)
            path = (*path, lists[path] - 1) if path in lists else path
        return path

    for line, statement, said in _statements(text):
        paths = [*_paths(said)]
        if statement.startswith("["):
            names = tuple(key for key in paths[0] if isinstance(key, str))
            if statement.startswith("[["):
                lists[(*numbered(names[:-1]), names[-1])] += 1
            table = numbered(names)
            paths = [()]
        for path in paths:
            path = (*table, *path)
            for n in range(1, len(path) + 1):
                found.setdefault(path[:n], line)
    return found


def _statements(text: str) -> Iterator[tuple[int, str, Mapping[str, Any]]]:
    """The headers and keys of a TOML document: where each begins, its text, and its value alone."""
    begun, so_far = 0, ""
    for number, line in enumerate(text.replace("\r\n", "\n").split("\n"), 1):
        begun, so_far = begun or number, f"{so_far}\n{line}".lstrip()
        try:
            said = tomllib.loads(so_far)
        except tomllib.TOMLDecodeError:  # it goes on in the next line
            continue
        if said:
            yield begun, so_far, said
        begun, so_far = 0, ""


def _paths(value: Any) -> Iterator[Keys]:
    """The paths of what stands in a table."""
    if value and isinstance(value, (Mapping, list)):
        items = value.items() if isinstance(value, Mapping) else enumerate(value)
        yield from ((key, *path) for key, below in items for path in _paths(below))
    else:
        yield ()
