"""How an isolated Python becomes the zygote of a jail: it reads the files of `inside/` from its standard input.

Nothing of the host is installed or mounted there. So any Python from 3.9 on will do, and its files always have the
host's version.
"""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from typing import Any

from doorward_jail.inside.protocol import HEADER

_PACKAGE = "doorward_jail.inside"
_FILES = (
    *("protocol", "clocks", "chance", "channel", "unknown", "results", "catalog", "runner", "walls", "relay"),
    "zygote",
)
"""In this order: a module imports only those before it."""

_READ_AND_RUN = f"""
import sys
sys.path[:] = filter(None, sys.path)
import json, os, types
def read(size):
    data = b""
    while len(data) < size:
        part = os.read(0, size - len(data))
        if not part:
            os._exit(0)
        data += part
    return data
text = json.loads(read(int.from_bytes(read(4), "big")))
package = sys.modules[{_PACKAGE!r}] = types.ModuleType({_PACKAGE!r})
for name, source in text["files"]:
    module = types.ModuleType(package.__name__ + "." + name)
    sys.modules[module.__name__] = module
    setattr(package, name, module)
    exec(compile(source, "<doorward " + name + ">", "exec", dont_inherit=True), module.__dict__)
package.zygote.main(text["config"])
os._exit(0)
"""

PYTHON_ARGUMENTS = ("-s", "-S", "-c", _READ_AND_RUN)
"""The arguments with which the Python is started. `-I` would ignore `PYTHONHASHSEED`. What else that keeps out,
`PYTHON_ENVIRONMENT` does; and the working folder is taken off the path first of all (`-P` and `PYTHONSAFEPATH` are
unknown to a Python before 3.11)."""

_WITHOUT = (
    *("PYTHONHOME", "PYTHONPATH", "PYTHONPLATLIBDIR", "PYTHONEXECUTABLE", "PYTHONUSERBASE", "PYTHONPYCACHEPREFIX"),
    *("PYTHONSTARTUP", "PYTHONWARNINGS", "PYTHONBREAKPOINT", "PYTHON_PRESITE", "PYTHONINSPECT", "PYTHONOPTIMIZE"),
    *("PYTHONDEBUG", "PYTHONDEVMODE", "PYTHONVERBOSE", "PYTHONDUMPREFS", "PYTHONPROFILEIMPORTTIME"),
    *("PYTHONTRACEMALLOC", "PYTHONMALLOC", "PYTHONMALLOCSTATS", "PYTHONCASEOK", "PYTHONFAULTHANDLER"),
    *("PYTHONIOENCODING", "PYTHONASYNCIODEBUG", "PYTHONNODEBUGRANGES", "PYTHONPERFSUPPORT", "PYTHON_PERF_JIT_SUPPORT"),
)
"""By these a Python would take its modules from elsewhere, run other code, or run ours otherwise. An image may set
them."""

PYTHON_ENVIRONMENT = {"PYTHONHASHSEED": "0", "PYTHONSAFEPATH": "1", **dict.fromkeys(_WITHOUT, "")}
"""The environment with which it is started; an empty variable is none. Sets have the same order in every jail, so that
a program can be run again as it was. Whoever chooses its data may make its sets slow for that: its time is limited."""


@cache
def _files() -> list[tuple[str, str]]:
    folder = resources.files(_PACKAGE)
    return [(name, (folder / f"{name}.py").read_text(encoding="utf-8")) for name in _FILES]


def first_frame(config: dict[str, Any]) -> bytes:
    """The first frame that the Python reads: the files, and the zygote's configuration."""
    body = json.dumps({"files": _files(), "config": config}).encode()
    return HEADER.pack(len(body)) + body
