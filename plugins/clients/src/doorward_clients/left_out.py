"""What stands beside the servers of a file and is not taken over: settings of another gateway. An import says what does
the same here."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

ALLOWED_UPSTREAMS = '[policy] allow = ["https://…"]'

_INSTEAD = {
    "sandbox": "executor, [executors.NAME] and [limits]",
    "security": ALLOWED_UPSTREAMS,
    "sampling": 'a server with source = "llm"',
    "executors": "executor",
}
FILES = "programs have no files of this machine; a server of files has its folders in its `command`"
"""What replaces a list of folders that programs may use."""

_MUTE = {"$schema", "inputs", "projects"}
"""Keys that say nothing of their own: `inputs` are the variables that a person is asked for."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A setting, what does the same here (`""`: nothing is known), and whether it guards: then leaving it out lets more
    pass than before."""

    place: str
    name: str
    instead: str = ""
    guards: bool = False

    def __str__(self) -> str:
        return f"{self.place}: {self.name} is not taken over" + (f"; here: {self.instead}" if self.instead else "")


def beside_servers(data: Any, key: str, place: str) -> Iterator[LeftOut]:
    """What a file that is about servers alone says besides them, which stand under `key`. Of a file without servers
    (`""`) it is what is known of other gateways: it may be about anything."""
    for name, value in data.items() if isinstance(data, Mapping) else ():
        if name == key or name in _MUTE or not value:
            continue
        if not key and (name not in _INSTEAD or not isinstance(value, Mapping)):
            continue
        domains = value.get("allowedDomains") if isinstance(value, Mapping) else None
        if domains and isinstance(domains, list):
            yield LeftOut(place, f"{name}.allowedDomains", allowed_upstreams(domains), guards=True)
            value = {each: more for each, more in value.items() if each != "allowedDomains"}
        if isinstance(value, Mapping):
            instead = _INSTEAD.get(name, "")
            yield from (
                LeftOut(place, f"{name}.{each}", FILES if each == "allowedProjects" else instead) for each in value
            )
        else:
            yield LeftOut(place, str(name), _INSTEAD.get(name, ""))


def allowed_upstreams(domains: Iterable[Any]) -> str:
    """The line of our configuration that allows calls to these hosts alone."""
    hosts = [host for each in domains if re.fullmatch(r"(\*\.)?[\w.-]{1,253}(:\d{1,5})?", host := str(each).strip())]
    listed = ", ".join(f'"https://{host}"' for host in hosts)
    return f"[policy] allow = [{listed}]" if listed else ALLOWED_UPSTREAMS
