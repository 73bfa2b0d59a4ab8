"""What ends workers when this process cannot: a worker that computes would else go on until its time limit."""

from __future__ import annotations

import contextlib
import shutil
import subprocess

_SCRIPT = """
left=" "
while read -r sign pid; do
    case $sign$left in
        +*) left="$left$pid " ;;
        *" $pid "*) left="${left%% $pid *} ${left#* $pid }" ;;
    esac
done
kill -9 $left
"""


class Watchdog:
    """A shell that is told of workers through a pipe, and kills those in its charge at the pipe's end: when this process is
    gone, however it ended. A worker is in its charge while a program may run in it; the others end by themselves. Where
    there is no shell (Windows), nothing is done."""

    def __init__(self) -> None:
        self._pids: set[int] = set()
        self._shell: subprocess.Popen[bytes] | None = None

    def guard(self, pid: int) -> None:
        if pid not in self._pids:
            self._pids.add(pid)
            self._tell(f"+ {pid}\n")

    def release(self, pid: int) -> None:
        """No more to be killed: its number may soon be another's."""
        if pid in self._pids:
            self._pids.remove(pid)
            self._tell(f"- {pid}\n")

    def close(self) -> None:
        """End the shell, and no worker."""
        shell, self._shell = self._shell, None
        if shell is not None and shell.stdin is not None:
            shell.kill()  # first: the end of its pipe is its sign to kill
            shell.stdin.close()
            shell.wait()

    def _tell(self, line: str) -> None:
        try:
            if self._shell is None:
                self._start()
            elif self._shell.stdin is not None:
                self._shell.stdin.write(line.encode())
        except OSError:  # somebody killed it
            self.close()
            with contextlib.suppress(OSError):
                self._start()

    def _start(self) -> None:
        """Started with the first worker, in a session of its own: what interrupts or kills our process group leaves it be."""
        if (sh := shutil.which("sh")) is None:
            return
        quiet = subprocess.DEVNULL
        self._shell = subprocess.Popen(  # noqa: S603 - our own words
            [sh, "-c", _SCRIPT], bufsize=0, stdin=subprocess.PIPE, stdout=quiet, stderr=quiet, cwd="/", env={}, start_new_session=True
        )
        assert self._shell.stdin is not None
        self._shell.stdin.write("".join(f"+ {pid}\n" for pid in self._pids).encode())
