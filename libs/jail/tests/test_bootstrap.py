"""What the Python of a jail starts with: nothing of its environment, or of the folder in which it starts, becomes code
or changes how ours runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from doorward_jail import PYTHON_ENVIRONMENT
from doorward_jail.bootstrap import PYTHON_ARGUMENTS, first_frame

pytestmark = pytest.mark.slow

LOOK = """
import json, sys
json.dump({
    "flags": {name: getattr(sys.flags, name) for name in dir(sys.flags) if name[0] != "_" and name not in ("count", "index")},
    "path": [*filter(None, sys.path)], "prefix": [sys.prefix, sys.exec_prefix, sys.pycache_prefix],
    "executable": sys.executable, "modules": sorted(sys.modules), "warnings": sys.warnoptions,
}, sys.stdout)
"""
OURS = {"hash_randomization", "ignore_environment", "isolated"}
"""What differs from `python -I` on purpose: the order of sets is always the same."""


@pytest.fixture
def hostile(tmp_path: Path) -> dict[str, str]:
    """An environment with every variable by which a Python runs other code, or runs it otherwise. The folder has
    modules that are called like those of Python."""
    planted = "import os\nopen(os.environ['FOUND'], 'a').write(__name__)\n"
    for name in ("json", "types", "evil", "sitecustomize", "usercustomize", "struct", "encodings"):
        (tmp_path / f"{name}.py").write_text(planted)
    folder = str(tmp_path)
    return {
        "FOUND": str(tmp_path / "found"),
        **dict.fromkeys(("PYTHONHOME", "PYTHONPATH", "PYTHONUSERBASE", "PYTHONPYCACHEPREFIX"), folder),
        "PYTHONWARNINGS": "error::evil.Warning",
        "PYTHONSTARTUP": str(tmp_path / "evil.py"),
        "PYTHONBREAKPOINT": "evil.run",
        "PYTHON_PRESITE": "evil",
        "PYTHONPLATLIBDIR": "evil",
        "PYTHONEXECUTABLE": str(tmp_path / "evil.py"),
        **dict.fromkeys(("PYTHONOPTIMIZE", "PYTHONINSPECT", "PYTHONDEVMODE", "PYTHONDEBUG", "PYTHONVERBOSE"), "1"),
        "PYTHONHASHSEED": "7",
    }  # fmt: skip


def started(
    folder: Path, arguments: tuple[str, ...], environment: dict[str, str]
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, timeout=60, check=False,
        input=b"",
    )  # fmt: skip


def test_it_starts_as_an_isolated_python_does(tmp_path: Path, hostile: dict[str, str]) -> None:
    """Flags, path, folders and loaded modules are those of `python -I`, whatever the environment around says."""
    here = started(tmp_path, (*PYTHON_ARGUMENTS[:-1], LOOK), hostile | PYTHON_ENVIRONMENT)
    assert here.returncode == 0, here.stderr
    isolated = started(tmp_path, ("-I", "-S", "-c", LOOK), {})
    ours, theirs = json.loads(here.stdout), json.loads(isolated.stdout)
    for each in (ours, theirs):
        each["flags"] = {name: value for name, value in each["flags"].items() if name not in OURS}
    assert ours == theirs
    assert not (tmp_path / "found").exists()


def test_nothing_of_its_folder_is_imported(tmp_path: Path, hostile: dict[str, str]) -> None:
    """Also by what it reads and runs first, which imports modules of Python: also where a Python is too old to know
    `PYTHONSAFEPATH`."""
    for more in ({}, {"PYTHONSAFEPATH": ""}):
        read = first_frame({"cannot": "be a configuration"})
        done = subprocess.run(
            [sys.executable, *PYTHON_ARGUMENTS], cwd=tmp_path, env=hostile | PYTHON_ENVIRONMENT | more, input=read,
            capture_output=True, timeout=60, check=False,
        )  # fmt: skip
        assert b"KeyError" in done.stderr, done.stderr  # its own code has run so far
        assert not (tmp_path / "found").exists()


def test_sets_have_the_same_order_in_every_jail(tmp_path: Path, hostile: dict[str, str]) -> None:
    """Even where the environment around says another one."""
    said = {
        started(tmp_path, (*PYTHON_ARGUMENTS[:-1], "print({*'abcdefgh'})"), around | PYTHON_ENVIRONMENT).stdout
        for around in ({}, hostile, {"PATH": os.environ["PATH"]})
    }
    assert len(said) == 1
