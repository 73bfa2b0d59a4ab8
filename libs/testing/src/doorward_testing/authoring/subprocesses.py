"""Runs what a plugin has in processes of their own, in which it is installed, whether or not it is so here."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from doorward.configuration import installed
from packaging.utils import canonicalize_name

from doorward_testing.authoring.candidate import KIND_OF, Candidate
from doorward_testing.authoring.findings import Found
from doorward_testing.authoring.metadata import entry_points

PROBE_SECONDS = 60.0
"""How long it may take to load one plugin."""

MAX_OUTPUT_BYTES = 64 * 1024
"""Of what a process prints, the last part is read."""

_IMPORT_CORE = """\
import sys, time
t = time.perf_counter()
import doorward, doorward.administration, pydantic
doorward.administration.Plugins, doorward.Settings
open(sys.argv[1], "w").write(str((time.perf_counter() - t) * 1000))
"""
"""Imports what core needs to load any plugin, and answers how many milliseconds that took."""


@dataclass(frozen=True, slots=True)
class Answered:
    """What a process has written into its answer's file, if it has, and how it ended."""

    value: Any
    ended: str
    output: str


@dataclass(frozen=True, slots=True)
class Place:
    """A folder for what processes need and leave, and the environment in which they find the plugin."""

    folder: Path
    environ: dict[str, str]

    def run(self, words: Sequence[str], *, cwd: Path | None = None, seconds: float | None = None) -> Answered:
        """Run Python to its end, or until the time is over. ANSWER in `words` is the file for its answer."""
        answer, output = self.folder / "answer", self.folder / "output"
        answer.unlink(missing_ok=True)
        command = [sys.executable, *(str(answer) if word == "ANSWER" else word for word in words)]
        given: dict[str, Any] = {"cwd": cwd or self.folder, "env": self.environ, "stdin": subprocess.DEVNULL}
        with output.open("w+b") as file:
            # A session of its own: whatever it starts can be ended with it.
            process = subprocess.Popen(  # noqa: S603
                command, stdout=file, stderr=subprocess.STDOUT, start_new_session=True, **given
            )
            try:
                ended = f"ended with exit code {process.wait(seconds)}"
            except subprocess.TimeoutExpired:
                ended = f"did not end within {seconds:g} s"
            finally:
                _end(process)
            file.seek(max(0, file.seek(0, os.SEEK_END) - MAX_OUTPUT_BYTES))
            said = file.read().decode(errors="replace")
        try:
            value = json.loads(answer.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            value = None
        return Answered(value, ended, said)


def _end(process: subprocess.Popen[bytes]) -> None:
    if hasattr(os, "killpg"):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    process.wait()


@contextmanager
def place(candidate: Candidate) -> Iterator[Place]:
    """A place where Python finds the plugin, with metadata as it will have once it is installed. Nothing is written
    into its own folder."""
    with tempfile.TemporaryDirectory(prefix="doorward-check-") as made:
        folder = Path(made)
        paths = [os.environ[name] for name in ("PYTHONPATH",) if os.environ.get(name)]
        if candidate.folder and not is_installed_too(candidate):
            paths.insert(0, str(_installed(folder / "site", candidate, candidate.folder)))
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("DOORWARD_", "PYTEST_", "COV_"))}
        more = {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": os.pathsep.join(paths)}
        yield Place(folder, kept | more)


def _installed(site: Path, candidate: Candidate, folder: Path) -> Path:
    """A folder for the path, in which its modules and its metadata lie side by side, as where it is installed."""
    name = canonicalize_name(candidate.distribution).replace("-", "_")
    info = site / f"{name}-{candidate.version}.dist-info"
    info.mkdir(parents=True)
    about = {"Metadata-Version": "2.1", "Name": candidate.distribution, "Version": candidate.version}
    lines = [*about.items(), *(("Requires-Dist", requirement) for requirement in candidate.requires)]
    (info / "METADATA").write_text("".join(f"{key}: {value}\n" for key, value in lines), encoding="utf-8")
    points = "".join(f"[{point.group}]\n{point.name} = {point.value}\n" for point in usable(candidate))
    (info / "entry_points.txt").write_text(points, encoding="utf-8")
    root = folder / "src" if (folder / "src").is_dir() else folder
    for found in root.iterdir():
        if found.suffix == ".py" or (found.is_dir() and found.name.isidentifier()):
            (site / found.name).symlink_to(found, target_is_directory=found.is_dir())
    return site


def is_installed_too(candidate: Candidate) -> bool:
    """Whether this is the folder of a distribution that is installed: core refuses two copies, so that one is used."""
    names = {canonicalize_name(entry.distribution) for entry in installed() if entry.kind == "distribution"}
    return candidate.folder is not None and canonicalize_name(candidate.distribution) in names


def usable(candidate: Candidate) -> list[Any]:
    """Its entry points that are well written."""
    wrong = {found.check for found in entry_points(candidate)}
    return [point for point in candidate.points if f"{point.group} {point.name}" not in wrong]


def probed(candidate: Candidate, place: Place) -> Iterator[Found]:
    """What each of its plugins does when core loads it."""
    if is_installed_too(candidate):
        do = "Uninstall it to check the folder."
        yield Found("to do", "distribution", "is installed here, too: that copy is checked, and not the folder", do)
    core_ms = place.run(["-c", _IMPORT_CORE, "ANSWER"]).value
    for point in usable(candidate):
        kind = KIND_OF[point.group]
        words = ["-m", "doorward_testing.authoring.probe", "ANSWER", kind, point.name, str(core_ms or 0.0)]
        answered = place.run(words, seconds=PROBE_SECONDS)
        if answered.value is None:
            said = f": {answered.output.splitlines()[-1]}" if answered.output.strip() else ""
            do = "Importing a module may only define things."
            yield Found("wrong", f"{kind} {point.name}", f"the process that loaded it {answered.ended}{said}", do)
            continue
        yield from (Found(**found) for found in answered.value)
        if answered.output.strip():
            do = "Use doorward.log: what `serve` writes on standard output goes to the MCP client."
            first = answered.output.strip().splitlines()[0][:100]
            yield Found("to do", f"{kind} {point.name}", f"prints when it is loaded: {first}", do)
