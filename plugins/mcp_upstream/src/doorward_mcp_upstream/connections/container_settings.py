"""What an entry with an `image` may have: the keys of `[servers.NAME.container]`, and the places of `egress`."""

from __future__ import annotations

import ipaddress
import re

from doorward import Settings
from pydantic import ByteSize, Field, PositiveFloat, PositiveInt

MAX_PLACES = 64
"""Places to which one server may connect."""
_PLACE = re.compile(r"(?=.{1,253}:)((?!-)[A-Za-z0-9_-]{1,63}(?:\.[A-Za-z0-9_-]{1,63})*):([1-9][0-9]{0,4})")


class ContainerSettings(Settings):
    """`[servers.NAME.container]`."""

    host: str = Field(
        "", description="The engine, as DOCKER_HOST; empty: DOCKER_HOST, the Docker context, or the first that answers"
    )
    memory: ByteSize = Field(ByteSize(512 * 2**20), ge=8 * 2**20, description="Memory of the server and its files")
    cpus: PositiveFloat = Field(1.0, description="Processors that it may keep busy")
    processes: PositiveInt = Field(128, ge=16, description="Its processes and threads")
    scratch: ByteSize = Field(
        ByteSize(64 * 2**20), description="Size of /tmp and of each folder that the image calls a volume, in memory"
    )
    user: str = Field(
        "",
        pattern=r"^([1-9]\d*(:[1-9]\d*)?)?$",
        description="Ids of its user and group; never root. Empty: those of the image, or 65534:65534 if it names none",
    )
    relay: str = Field(
        "python:3.13-slim",
        min_length=1,
        description="An image with Python 3.9 or newer as `python3`, which carries what `egress` allows",
    )


def place(text: str) -> tuple[str, int]:
    """A host and a port. Raises: ValueError."""
    found = _PLACE.fullmatch(text)
    if found is None or int(found[2]) > 65535:
        raise ValueError(f"{text[:100]!r} must be HOST:PORT, with one name of a host")
    host = found[1].lower()
    if host.rpartition(".")[2] == "localhost":
        raise ValueError(f"{text!r} is the container itself")
    try:
        ipaddress.ip_address(host)
    except ValueError:
        if not host.rpartition(".")[2].isdigit():  # such as 127.1, which is an address for some
            return host, int(found[2])
    raise ValueError(f"{text!r} is an address: give the name of a host")
