"""Results of programs: values as JSON, figures and files as artefacts, errors with lines of the agent's own code."""

from __future__ import annotations

import base64
import builtins
import collections
import dataclasses
import enum
import io
import itertools
import os
import stat
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from doorward_jail.inside.unknown import Unknown, sent

BYTES_KEY = "\0bytes"
"""The only key of an object that stands for bytes in JSON."""

MAX_ARTEFACTS = 100
"""Artefacts of one run."""

MAX_ITEMS = 100_001
"""Items of an iterator: one more than a value may have parts."""

_SAID_BY_TEXT = frozenset(["datetime", "decimal", "fractions", "ipaddress", "uuid"])
"""Modules whose objects are what their text says."""

Keep = Callable[[str, bytes], None]


def outgoing(value: Any) -> Any:
    """An argument that `json` cannot encode, as a value that it can: the path of a file, or an open file, becomes the
    file. Raises: TypeError."""
    if type(value) is Unknown:
        return sent(value)
    if isinstance(value, os.PathLike) and os.path.isfile(value):
        with open(value, "rb") as file:
            return outgoing(file)
    if isinstance(value, io.IOBase) and isinstance(name := getattr(value, "name", None), str):
        content = value.read()
        content = content if isinstance(content, bytes) else str(content).encode()
        return {"base64": base64.b64encode(content).decode(), "name": os.path.basename(name)}
    return returned(value)


def returned(value: Any) -> Any:
    """A part of a program's value that `json` cannot encode, as a value that it can. Raises: TypeError for unknown
    types."""
    if type(value) is Unknown:
        return sent(value)
    found = _known(value)
    if found is NotImplemented:
        raise TypeError(f"a {type(value).__name__} cannot be sent; send plain JSON values")
    return found


def _known(value: Any) -> Any:
    kind = type(value)
    package = (kind.__module__ or "").partition(".")[0]
    if isinstance(value, (io.BytesIO, io.StringIO)):
        value = value.getvalue()
    if isinstance(value, str):
        return value
    if isinstance(value, (bytes, bytearray, memoryview)):
        return {BYTES_KEY: base64.b64encode(bytes(value)).decode()}
    if isinstance(value, (set, frozenset)):
        return sorted(value, key=str)
    if isinstance(value, Mapping):
        return dict(value)
    if package == "pandas" and hasattr(value, "to_dict"):
        return _of_pandas(value)
    if package == "numpy" and hasattr(value, "tolist"):
        return value.tolist()
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if kind.__name__ == "Function" and "catalog" in kind.__module__:
        return str(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, enum.Enum):
        return value.value
    if hasattr(value, "model_dump") and not isinstance(value, type):
        return value.model_dump()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    return NotImplemented


def _of_pandas(value: Any) -> Any:
    """A table as its rows, a series as a list. Labels of the index are kept if they are more than row numbers."""
    named = any(name is not None for name in value.index.names)
    if hasattr(value, "columns"):
        return (value.reset_index() if named else value).to_dict("records")
    if named or value.index.dtype.kind not in "iu":
        return {str(label): part for label, part in value.to_dict().items()}
    return value.tolist()


def plain(value: Any, depth: int = 0) -> Any:
    """Any value as plain JSON: keys become text, and objects of types that say nothing their `repr`."""
    if depth > 100:
        return "…"
    if type(value) is Unknown:
        return sent(value)
    if value is None or isinstance(value, (str, bool, int, float)):
        if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > 10_000:
            return f"an integer of {value.bit_length()} bits"
        return value
    if isinstance(value, dict):
        return {key if isinstance(key, str) else str(key): plain(part, depth + 1) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(part, depth + 1) for part in value]
    known = _known(value)
    known = _of_object(value) if known is NotImplemented else known
    return repr(value)[:1000] if known is NotImplemented else plain(known, depth + 1)


def _of_object(value: Any) -> Any:
    """An object of a program's own class as its attributes if it has any, one that can be iterated over as a list, one
    that its text says as that."""
    kind = type(value)
    own = kind.__module__ == "__main__" and not isinstance(value, (type, BaseException))
    if own and (attributes := getattr(value, "__dict__", None)):
        return dict(attributes)
    if isinstance(value, (Iterator, collections.deque)) and not isinstance(value, io.IOBase):
        return list(itertools.islice(value, MAX_ITEMS))
    return str(value)[:1000] if (kind.__module__ or "").partition(".")[0] in _SAID_BY_TEXT else NotImplemented


class Figures:
    """The figures and images that a program draws or returns, kept as artefacts."""

    def __init__(self, keep: Keep) -> None:
        self._keep = keep
        self._kept: list[tuple[Any, str]] = []

    def collect(self) -> None:
        """Keep the figures of pyplot that are open, and close them."""
        pyplot = sys.modules.get("matplotlib.pyplot")
        if pyplot is None:
            return
        for number in pyplot.get_fignums():
            self.kept(pyplot.figure(number))
        pyplot.close("all")

    def kept(self, value: Any) -> str | None:
        """Keep a figure or an image. Returns: the artefact's name; `None` if the value is neither."""
        for known, name in self._kept:
            if known is value:  # it was drawn, and is returned as well
                return name
        module = type(value).__module__
        content, extension = io.BytesIO(), "png"
        if module.startswith("matplotlib.") and hasattr(value, "savefig"):
            value.savefig(content, format="png")
        elif module.startswith("PIL.") and hasattr(value, "save"):
            (value if value.mode in ("1", "L", "P", "RGB", "RGBA") else value.convert("RGB")).save(
                content, format="PNG"
            )
        elif module.startswith("plotly.") and hasattr(value, "to_html"):
            content.write(value.to_html(include_plotlyjs="cdn").encode())
            extension = "html"
        else:
            return None
        name = f"figure-{len(self._kept) + 1}.{extension}"
        self._kept.append((value, name))
        self._keep(name, content.getvalue())
        return name

    def watch(self) -> None:
        """Replace `show` of images and of plotly's figures, when they are imported: there is no screen, so it keeps
        them."""
        imported = builtins.__import__

        def importing(name: str, *args: Any, **kwargs: Any) -> Any:
            module = imported(name, *args, **kwargs)
            if name.startswith(("PIL", "plotly")):
                for place, kind in (("PIL.Image", "Image"), ("plotly.basedatatypes", "BaseFigure")):
                    if (owner := getattr(sys.modules.get(place), kind, None)) is not None:
                        owner.show = lambda shown, *args, **kwargs: self.kept(shown) and None
            return module

        builtins.__import__ = importing


class Out:
    """The folder `out`. Its new and changed files become artefacts after each run."""

    def __init__(self, folder: str = "out") -> None:
        self._folder = folder
        self._seen: dict[str, tuple[int, int]] = {}

    def files(self, most: int) -> Iterator[tuple[str, bytes]]:
        """Name and content of each regular file that is new or changed, together at most `most` bytes. Files that are
        left out are named in the output."""
        count = 0
        for folder, folders, names in os.walk(self._folder):
            folders.sort()
            for name in sorted(names):
                path = os.path.join(folder, name)
                content = self._read(path, most)
                if content is None:
                    continue
                count += 1
                most -= len(content)
                if count <= MAX_ARTEFACTS:
                    yield os.path.relpath(path, self._folder).replace(os.sep, "-"), content
        if count > MAX_ARTEFACTS:
            left_out = f"{count - MAX_ARTEFACTS} files in {self._folder} are more than {MAX_ARTEFACTS} and not kept"
            sys.stderr.write(f"[{left_out}: write one archive]\n")

    def _read(self, path: str, most: int) -> bytes | None:
        try:
            number = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError as error:
            sys.stderr.write(f"[{path} is not kept: {error.strerror}]\n")
            return None
        with open(number, "rb") as file:
            about = os.fstat(number)
            mark = (about.st_mtime_ns, about.st_size)
            if not stat.S_ISREG(about.st_mode) or self._seen.get(path) == mark:
                return None
            if about.st_size > most:
                sys.stderr.write(f"[{path}: {about.st_size} bytes are too many for an artefact]\n")
                return None
            self._seen[path] = mark
            return file.read()


def failure(error: BaseException, name: str) -> dict[str, Any]:
    """An exception as a message: its type and text, and its frames in the program called `name`."""
    while len(inner := list(getattr(error, "exceptions", ()))) == 1:  # a group of one stands for that one
        error = inner[0]
    frames = [
        {"line": number, "function": frame.f_code.co_name}
        for frame, number in traceback.walk_tb(error.__traceback__)
        if frame.f_code.co_filename == name
    ]
    line = frames[-1]["line"] if frames else None
    if isinstance(error, SyntaxError) and error.filename == name:
        line = error.lineno
    message = error.msg if isinstance(error, SyntaxError) else _text(error)
    return {"type": type(error).__name__, "message": message, "line": line, "frames": frames[-20:]}


def _text(error: BaseException) -> str:
    try:
        return str(error)[:8000]
    except Exception:
        return "the error has no message that can be shown"
