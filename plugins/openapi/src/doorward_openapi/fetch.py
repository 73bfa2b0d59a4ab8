"""A document and the files next to it, from a folder or over HTTP."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable
from pathlib import Path
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

import anyio
from doorward import ConfigError, ServerError

from doorward_openapi.document import MOST_BYTES, decompress, external_refs
from doorward_openapi.refs import Bundle, inside

MOST_FILES = 5_000
MOST_DOWNLOADS = 100

Download = Callable[[str], Awaitable[bytes]]


async def fetch(spec: str, folder: Path, download: Download) -> Bundle:
    """The document that `spec` names (a path, relative to `folder`, or an http(s) URL), and the files of its own
    folder or origin that it refers to.

    Raises: ConfigError if it is not there or too large, ServerError if it can't be downloaded.
    """
    if spec.startswith(("http://", "https://")):
        return await _downloaded(urldefrag(spec)[0], download)
    return await anyio.to_thread.run_sync(_read_all, spec, folder)


def digest(bundle: Bundle) -> str:
    """The same for the same bytes under the same names."""
    parent = bundle.root.rpartition("/")[0]
    total = hashlib.sha256()
    for uri in sorted(bundle.files):
        total.update(f"{uri.removeprefix(parent)}\n{len(bundle.files[uri])}\n".encode())
        total.update(bundle.files[uri])
    return total.hexdigest()


def _read_all(spec: str, folder: Path) -> Bundle:
    path = (folder / Path(spec).expanduser()).resolve()
    raw = _read(path, spec)
    if raw is None:
        hint = "`spec` is a path, relative to the configuration file, or a URL."
        raise ConfigError(f"there is no file {str(path)!r}", place=f"spec = {spec!r}", hint=hint)
    root = path.as_uri()
    files = {root: raw}
    todo = [root]
    while todo and len(files) < MOST_FILES:
        uri = todo.pop()
        for ref in external_refs(files[uri]):
            other = _joined(uri, ref)
            if other in files or not inside(other, root):
                continue
            found = _read_inside(other, path.parent, spec)
            if found is not None:
                files[other] = found
                todo.append(other)
        _bounded(files, spec)
    return Bundle(root, files)


def _read_inside(uri: str, folder: Path, spec: str) -> bytes | None:
    """A file below `folder`, wherever `..` or symbolic links in its path would lead."""
    try:
        path = Path(unquote(urlsplit(uri).path)).resolve()
        return _read(path, spec) if path.is_relative_to(folder) else None
    except (OSError, ValueError):
        return None


def _read(path: Path, spec: str) -> bytes | None:
    """A regular file's bytes, decompressed; `None` if there is no such file.

    Raises: ConfigError.
    """
    try:
        if not path.is_file():
            return None
        with path.open("rb") as file:
            raw = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror}", place=f"spec = {spec!r}") from None
    return decompress(raw, path.name)


async def _downloaded(root: str, download: Download) -> Bundle:
    name = root.partition("?")[0].rpartition("/")[2]
    files = {root: decompress(await download(root), name)}
    todo = [root]
    tried = {root}
    while todo:
        uri = todo.pop()
        for ref in external_refs(files[uri]):
            other = _joined(uri, ref)
            if other in tried or not inside(other, root) or len(tried) >= MOST_DOWNLOADS:
                continue
            tried.add(other)
            try:
                files[other] = decompress(await download(other), other.rpartition("/")[2])
                todo.append(other)
            except (ServerError, ConfigError):
                continue  # who refers to it is told that it is not there
        _bounded(files, root)
    return Bundle(root, files)


def _joined(uri: str, ref: str) -> str:
    try:
        return urljoin(uri, ref)
    except ValueError:
        return ""


def _bounded(files: dict[str, bytes], spec: str) -> None:
    if sum(map(len, files.values())) > 2 * MOST_BYTES:
        raise ConfigError("the document and its files are too large altogether", place=f"spec = {spec.partition('?')[0]!r}")
