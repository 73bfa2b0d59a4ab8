"""A document and the files that belong to it, from a folder or over HTTP."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

import anyio
from doorward import ConfigError, ServerError

from doorward_openapi.document.document import MAX_DOCUMENT_BYTES, decompress, external_refs
from doorward_openapi.document.refs import Bundle, inside
from doorward_openapi.document.servers import file_name
from doorward_openapi.fetching.downloads import Downloaded

MAX_FILES = 5_000
MAX_DOWNLOADS = 100

_PACKED = ("", ".zst", ".gz")
_ENDINGS = tuple(f".{kind}{packed}" for kind in ("yaml", "yml", "json") for packed in _PACKED)
_ROOT = re.compile(rb"""^(?:openapi|swagger)\s*:|["'](?:openapi|swagger)["']\s*:\s*["'\d]""", re.MULTILINE)

Download = Callable[[str], Awaitable[Downloaded]]


async def fetch(
    spec: str, folder: Path, download: Download, origins: Sequence[str] = (), *, key: str = "spec"
) -> Bundle:
    """The document that `spec` names, with the files that it refers to in its own folder or origin, or in `origins`.
    `spec` is an http(s) URL, or a path relative to `folder`; if that is a folder, the document in it is meant. `key` is
    the name of the setting.

    Raises: ConfigError if it is missing or too large, ServerError if it cannot be downloaded.
    """
    place = f"{key} = {spec.partition('?')[0]!r}"
    if spec.startswith(("http://", "https://")):
        url = urldefrag(spec)[0]
        root, body = await download(url)
        bundle = Bundle(root, {root: decompress(body, file_name(root))}, {url: root}, _and_of(url, origins))
    else:
        bundle = Bundle(*await anyio.to_thread.run_sync(_read_all, spec, folder, place), {}, origins)
        if not origins:
            return bundle
    await _download_all(bundle, download, place)
    return bundle


def digest(bundle: Bundle) -> str:
    """A hash of the bundle's files: their bytes and their names."""
    parent = bundle.root.rpartition("/")[0]
    total = hashlib.sha256()
    for uri in sorted(bundle.files):
        total.update(f"{uri.removeprefix(parent)}\n{len(bundle.files[uri])}\n".encode())
        total.update(bundle.files[uri])
    return total.hexdigest()


_HOST = re.compile(r"(?:[\w-]+\.)*[\w-]+(?P<port>:\d{1,5})/|(?:[\w-]+\.)+(?:com|net|org|io|dev|local)/")
"""What a URL without its scheme begins with."""


def _and_of(url: str, origins: Sequence[str]) -> list[str]:
    """`origins` and the origin of the configured URL, which may redirect to another one."""
    parts = urlsplit(url)
    return [*origins, f"{parts.scheme}://{parts.netloc}"]


def _read_all(spec: str, folder: Path, place: str) -> tuple[str, dict[str, bytes]]:
    path = (folder / Path(spec).expanduser()).resolve()
    if path.is_dir():
        path = _document_in(path, place)
    raw = _read(path, place)
    if raw is None:
        hint = "It is a path, relative to the configuration file, or a URL."
        if host := _HOST.match(spec):
            hint = f"If it is a URL, it begins with {'http' if host['port'] else 'https'}://."
        raise ConfigError(f"there is no file {str(path)!r}", place=place, hint=hint)
    root = path.as_uri()
    files = {root: raw}
    todo, size = [root], len(raw)
    while todo and len(files) < MAX_FILES:
        uri = todo.pop()
        for ref in external_refs(files[uri]):
            other = _joined(uri, ref)
            if other in files or not inside(other, root):
                continue
            found = _read_inside(other, path.parent, place)
            if found is not None:
                files[other] = found
                todo.append(other)
                size += len(found)
                _bounded(size, place)
    return root, files


def _document_in(folder: Path, place: str) -> Path:
    """The document in a folder: `openapi.*`, else `swagger.*`, else the only file that declares itself one.

    Raises: ConfigError if there is none, or more than one.
    """
    try:
        files = [f for f in sorted(folder.iterdir())[:MAX_FILES] if f.name.endswith(_ENDINGS) and f.is_file()]
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror}", place=place) from None
    named = [[f for f in files if f.name.partition(".")[0] == name] for name in ("openapi", "swagger")]
    found = named[0] or named[1] or [f for f in files if _ROOT.search(_read(f, place) or b"")]
    if len(found) == 1:
        return found[0].resolve()
    listed = f"several documents: {', '.join(f.name for f in found[:10])}" if found else "no OpenAPI document"
    raise ConfigError(f"the folder {str(folder)!r} has {listed}", place=place, hint="Name the file that is meant.")


def _read_inside(uri: str, folder: Path, place: str) -> bytes | None:
    """A file, if its path without `..` and symbolic links is below `folder`."""
    try:
        path = Path(unquote(urlsplit(uri).path)).resolve()
        return _read(path, place) if path.is_relative_to(folder) else None
    except (OSError, ValueError):
        return None


def _read(path: Path, place: str) -> bytes | None:
    """A regular file's bytes, decompressed; `None` if there is no such file.

    Raises: ConfigError.
    """
    try:
        if not path.is_file():
            return None
        with path.open("rb") as file:
            raw = file.read(MAX_DOCUMENT_BYTES + 1)
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror}", place=place) from None
    return decompress(raw, path.name)


async def _download_all(bundle: Bundle, download: Download, place: str) -> None:
    """Download the files to which a bundle refers over HTTP, and add them to it."""
    files, moved = bundle.files, bundle.moved
    todo, size = list(files), sum(map(len, files.values()))
    tried = set(moved)
    while todo:
        uri = todo.pop()
        for ref in external_refs(files[uri]):
            other = _joined(uri, ref)
            if other in tried or other in files or not other.startswith("http") or len(tried) >= MAX_DOWNLOADS:
                continue
            if not inside(other, bundle.root, bundle.origins):
                continue
            tried.add(other)
            try:
                found, body = await download(other)
                files[found] = decompress(body, file_name(found))
            except (ServerError, ConfigError):
                continue  # whatever refers to it reports that it is missing
            moved[other] = found
            todo.append(found)
            size += len(files[found])
            _bounded(size, place)


def _joined(uri: str, ref: str) -> str:
    try:
        return urljoin(uri, ref)
    except ValueError:
        return ""


def _bounded(size: int, place: str) -> None:
    if size > 2 * MAX_DOCUMENT_BYTES:
        raise ConfigError("the document and its files are too large altogether", place=place)
