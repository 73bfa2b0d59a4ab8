"""The chain of the lines: each ends with a keyed hash of itself and of the one before, so that none can be changed,
left out, moved or added without the key. A small file, the head, says where the chain begins and ends."""

from __future__ import annotations

import hmac
import os
import re
import struct
from dataclasses import dataclass
from typing import NamedTuple

BEGIN = bytes(32)
"""What the first line of all is chained to."""

_CHAINED = re.compile(rb'(\{".*,"n":(\d{1,18})),"chain":"([0-9a-f]{64})"\}')
_HEAD = struct.Struct(">24sQQQ32sQ32s")
_MAGIC = b"doorward audit head 1\n"
HEAD_BYTES = _HEAD.size + 32
_HAS_PLACES = hasattr(os, "pread")
"""Windows has no way to read at a place in one step."""


def chain_key(key: bytes) -> bytes:
    """The key of the chain, made from the key of the log: that one hashes what agents choose."""
    return hmac.digest(key, b"the chain of the audit log", "sha256")


class Link(NamedTuple):
    """A line's place in the chain. A tuple, as the head: one of each is made for every line."""

    n: int = 0
    chain: bytes = BEGIN

    def next(self, key: bytes, text: bytes) -> tuple[Link, bytes]:
        """The link of the next line, and the line. `text` is an object of JSON that is not empty, without its last
        brace."""
        text += b',"n":%d' % (self.n + 1)
        link = Link(self.n + 1, self._hash(key, text))
        return link, b'%s,"chain":"%s"}\n' % (text, link.chain.hex().encode())

    def leads_to(self, key: bytes, line: ChainedLine) -> bool:
        """Whether a line is the next one, as it was written."""
        return line.link.n == self.n + 1 and hmac.compare_digest(self._hash(key, line.text), line.link.chain)

    def _hash(self, key: bytes, text: bytes) -> bytes:
        return hmac.digest(key, self.chain + text, "sha256")


@dataclass(frozen=True, slots=True)
class ChainedLine:
    """A line, with the place in the chain that it claims."""

    text: bytes
    link: Link


def chained(line: bytes) -> ChainedLine | None:
    """A line that claims a place in the chain; `None` if it claims none."""
    if (found := _CHAINED.fullmatch(line.rstrip(b"\n"))) is None:
        return None
    return ChainedLine(found[1], Link(int(found[2]), bytes.fromhex(found[3].decode())))


class Head(NamedTuple):
    """Where the chain ends: the last line, the file with it and its size then. And `before` which line it begins, for
    the oldest files are dropped at some time."""

    last: Link = Link()
    file: int = 0
    size: int = 0
    before: Link = Link()

    def at(self, last: Link, file: int, size: int) -> Head:
        return Head(last, file, size, self.before)

    def written(self, key: bytes) -> bytes:
        """It as the bytes of its file."""
        last, before = self.last, self.before
        said = _HEAD.pack(_MAGIC, last.n, self.file, self.size, last.chain, before.n, before.chain)
        return said + hmac.digest(key, said, "sha256")


def read_head(number: int, key: bytes) -> Head | None:
    """The head in an open file; `None` if there is none, or none that was made with this key. Raises: OSError."""
    return head_in(read_at(number, 0, HEAD_BYTES), key)


def head_in(content: bytes, key: bytes) -> Head | None:
    """The head in the bytes of its file; see `read_head`."""
    said, proof = content[: _HEAD.size], content[_HEAD.size :]
    if len(content) != HEAD_BYTES or not hmac.compare_digest(hmac.digest(key, said, "sha256"), proof):
        return None
    _, n, file, size, chain, n_before, chain_before = _HEAD.unpack(said)
    return Head(Link(n, chain), file, size, Link(n_before, chain_before))


def is_head(number: int) -> bool:
    """Whether an open file is a head, by its first bytes."""
    return read_at(number, 0, len(_MAGIC)) == _MAGIC


def read_at(number: int, start: int, size: int) -> bytes:
    """At most so many bytes of an open file. Raises: OSError."""
    if _HAS_PLACES:
        return os.pread(number, size, start)
    os.lseek(number, start, os.SEEK_SET)
    return os.read(number, size)


def write_at(number: int, start: int, content: bytes) -> None:
    """Write at a place of an open file. Raises: OSError."""
    if _HAS_PLACES:
        os.pwrite(number, content, start)
        return
    os.lseek(number, start, os.SEEK_SET)
    os.write(number, content)
