"""Ends child processes when this process is gone: a busy worker, or a server that ignores the end of its input."""

from __future__ import annotations

import contextlib
import shutil
import subprocess

_SCRIPT = """
left=" "
while read -r sign number; do
    case $sign$left in
        +*) left="$left$number " ;;
        *" $number "*) left="${left%% $number *} ${left#* $number }" ;;
    esac
done
[ "$left" = " " ] && exit
"""


class Watchdog:
    """A shell that is told through a pipe which processes it guards. The pipe ends when this process is gone, for
    whatever reason; then the shell runs `end`: shell commands, with the process numbers in `$left`. The shell has a
    session of its own, so a signal to our process group does not reach it. Where there is no shell (Windows), nothing
    is done."""

    def __init__(self, end: str) -> None:
        self._script = _SCRIPT + end
        self._charges: set[int] = set()
        self._shell: subprocess.Popen[bytes] | None = None

    def guard(self, number: int) -> None:
        """Guard a process, or a process group."""
        if number not in self._charges:
            self._charges.add(number)
            self._tell(f"+ {number}\n")

    def release(self, number: int) -> None:
        """Guard a process no longer: it has ended, and another may soon get its number."""
        if number in self._charges:
            self._charges.remove(number)
            self._tell(f"- {number}\n")

    def rest(self) -> None:
        """End the shell if it guards nothing; the next process starts a new one."""
        if not self._charges:
            self.close()

    def close(self) -> None:
        """End the shell, but none of the processes."""
        shell, self._shell = self._shell, None
        if shell is not None and shell.stdin is not None:
            shell.kill()  # first, because the end of the pipe is its signal to act
            shell.stdin.close()
            shell.wait()

    def _tell(self, line: str) -> None:
        with contextlib.suppress(OSError):
            if self._shell is None or self._shell.poll() is not None:  # somebody killed it
                self.close()
                self._start()
            elif self._shell.stdin is not None:
                self._shell.stdin.write(line.encode())

    def _start(self) -> None:
        if (sh := shutil.which("sh")) is None:
            return
        quiet, path = subprocess.DEVNULL, {"PATH": "/usr/bin:/bin"}
        self._shell = subprocess.Popen(  # noqa: S603 - the caller wrote the script
            [sh, "-c", self._script],
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=quiet,
            stderr=quiet,
            cwd="/",
            env=path,
            start_new_session=True,
        )
        assert self._shell.stdin is not None
        self._shell.stdin.write("".join(f"+ {number}\n" for number in self._charges).encode())
