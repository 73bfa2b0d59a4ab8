# `make reference` writes this file.
from doorward_containers.channel import Unwrap as Unwrap
from doorward_containers.channel import as_socket as as_socket
from doorward_containers.container import Container as Container
from doorward_containers.container import RUNTIME_PROCESSES as RUNTIME_PROCESSES
from doorward_containers.container import ULIMITS as ULIMITS
from doorward_containers.container import hardened as hardened
from doorward_containers.container import remove as remove
from doorward_containers.container import start as start
from doorward_containers.engine import Engine as Engine
from doorward_containers.engine import EngineAddress as EngineAddress
from doorward_containers.engine import connect as connect
from doorward_containers.engine import is_podman as is_podman
from doorward_containers.engine import place as place
from doorward_containers.engine import sockets as sockets
from doorward_containers.owner import labels as labels
from doorward_containers.owner import orphaned as orphaned
from doorward_containers.owner import sweep as sweep

__all__ = [
    "Container",
    "Engine",
    "EngineAddress",
    "RUNTIME_PROCESSES",
    "ULIMITS",
    "Unwrap",
    "as_socket",
    "connect",
    "hardened",
    "is_podman",
    "labels",
    "orphaned",
    "place",
    "remove",
    "sockets",
    "start",
    "sweep",
]
