"""Records the sessions that pages show: commands run in a pseudo-terminal, and what they print becomes an asciicast.

`python docs/pictures/record.py` writes `demo.cast` and `approval.cast` beside this file; `draw.py` draws them. A frame
is shown for as long as its lines take to read, not for as long as the machine took. `tests/test_pictures.py` records
again and compares.
"""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import struct
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
COLUMNS, ROWS = 96, 28
SECONDS = 20.0
PROMPT = "\x1b[32m$\x1b[0m "
STYLE = r"(?:\x1b\[[\d;]*m)*"
STEP = re.compile(rf"(?m)^(?={STYLE}\d{STYLE}  \w)")
"""Where a step of the demo begins."""
PROGRESS = r"\r\x1b\[K(?:[^\r\n]*(?=\r\x1b\[K))?"
"""Lines that are shown while something takes longer than a second, and cleared: on a busy machine alone."""
CONFIGURATION = """
[servers.library]
source = "openapi"
spec = "{url}/openapi.json"
base_url = "{url}"
auth = {{ type = "api_key", in = "header", name = "X-Api-Key", value = "${{DEMO_API_KEY}}" }}

[[policy.rules]]
match = "library"
class = ["write", "destructive"]
then = "confirm"
reason = "writes need a person"
"""
PROGRAM = """\
import library

library.update_loan(id=3, due="2026-12-24")
result = library.get_loan(id=3)["due"]
"""


def run(line: str, folder: Path) -> str:
    """What a command prints to a terminal, without spaces at the end of lines."""
    environment = {"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin", "HOME": str(folder), "LANG": "C.UTF-8"}
    environment |= {"TERM": "xterm-256color", "PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring"}
    ours, theirs = pty.openpty()
    set_size(theirs)
    with subprocess.Popen(  # noqa: S603
        ["sh", "-c", line],  # noqa: S607
        cwd=folder,
        env=environment,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    ):
        os.close(theirs)
        printed = b""
        with contextlib.suppress(OSError), open(ours, "rb", buffering=0) as terminal:  # EIO is its end
            while more := terminal.read(1 << 16):
                printed += more
    text = re.sub(PROGRESS, "", printed.decode().replace("\r\n", "\n"))
    return re.sub(rf" +(?={STYLE}$)", "", text, flags=re.MULTILINE)


def set_size(terminal: int) -> None:
    import fcntl
    import termios

    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))


def demo(folder: Path) -> list[str]:
    """The frames of `doorward demo`, one for each step."""
    (folder / "tmp").mkdir()
    return [f"{PROMPT}doorward demo\n", *filter(None, STEP.split(run("TMPDIR=tmp doorward demo", folder)))]


@contextlib.contextmanager
def library(folder: Path) -> Iterator[str]:
    """The address of the demo's lending library, which knows one key."""
    key = "books-on-loan-7264"
    with subprocess.Popen(
        [sys.executable, "-m", "doorward_demo.service"],
        env={**os.environ, "DEMO_API_KEY": key},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as service:
        assert service.stdout is not None
        (folder / ".env").write_text(f"DEMO_API_KEY={key}\n")
        yield service.stdout.readline().strip()
        assert service.stdin is not None
        service.stdin.close()


def approval(folder: Path) -> list[str]:
    """The frames of a program that waits for a person, and of the person's yes."""
    frames: list[str] = []

    def show(line: str) -> str:
        printed = run(line, folder)
        frames.extend([f"{PROMPT}{line}\n", f"{printed}\n"])
        return printed

    with library(folder) as url:
        (folder / "doorward.toml").write_text(CONFIGURATION.format(url=url), encoding="utf-8")
        (folder / "extend.py").write_text(PROGRAM, encoding="utf-8")
        show("cat extend.py")
        waits = show("doorward run extend.py")
        request = found(r"approve (\w{16})`", waits)
        show(f"doorward approvals show {request}")
        show(f"doorward approvals approve {request}")
        run_id = found(r"The run (\w+) waits", waits)
        show(f"doorward runs resume {run_id}")
    return frames


def found(pattern: str, text: str) -> str:
    match = re.search(pattern, text)
    if not match:
        sys.exit(f"nothing like {pattern} in:\n{text}")
    return match[1]


RECORDINGS: dict[str, Callable[[Path], list[str]]] = {"demo": demo, "approval": approval}


def record(name: str) -> list[str]:
    """The frames of a recording, made now."""
    with tempfile.TemporaryDirectory(prefix="doorward-recording-", dir="/tmp") as folder:
        return [frame.replace(folder, "~") for frame in RECORDINGS[name](Path(folder).resolve())]


def cast(frames: list[str], title: str) -> str:
    """The recording as asciicast v2."""
    pauses = [1.0 if frame.startswith(PROMPT) else 2.0 + min(frame.count("\n"), ROWS) / 14 for frame in frames]
    pace = SECONDS / sum(pauses)
    head = {"version": 2, "width": COLUMNS, "height": ROWS, "title": title}
    events = [[round(sum(pauses[:n]) * pace, 2), "o", frame.replace("\n", "\r\n")] for n, frame in enumerate(frames)]
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in [head, *events])


if __name__ == "__main__":
    for name in RECORDINGS:
        (HERE / f"{name}.cast").write_text(cast(record(name), name), encoding="utf-8")
