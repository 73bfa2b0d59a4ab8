"""What ends other processes when this one cannot: a worker that computes, a server that does not end at the end of its
input."""

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
    """A shell that is told through a pipe which processes are in its charge. At the pipe's end, which comes when this
    process is gone however it went, it runs `end`: lines for a shell, with the numbers in `$left`. It has a session of
    its own, so what kills our process group leaves it be. Where there is no shell (Windows), nothing is done."""

    def __init__(self, end: str) -> None:
        self._script = _SCRIPT + end
        self._charges: set[int] = set()
        self._shell: subprocess.Popen[bytes] | None = None

    def guard(self, number: int) -> None:
        """Take a process, or a group, in charge."""
        if number not in self._charges:
            self._charges.add(number)
            self._tell(f"+ {number}\n")

    def release(self, number: int) -> None:
        """It needs no ending any more, and its number may soon be another's."""
        if number in self._charges:
            self._charges.remove(number)
            self._tell(f"- {number}\n")

    def rest(self) -> None:
        """End the shell if nothing is in its charge; it is started anew with the next."""
        if not self._charges:
            self.close()

    def close(self) -> None:
        """End the shell, and nothing else."""
        shell, self._shell = self._shell, None
        if shell is not None and shell.stdin is not None:
            shell.kill()  # first: the end of its pipe is its sign
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
        self._shell = subprocess.Popen(  # noqa: S603 - the words of whoever guards
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
