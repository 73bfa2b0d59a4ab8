"""What ends servers when this process cannot: one that does not end at the end of its input would outlive us."""

from __future__ import annotations

import contextlib
import shutil
import subprocess

_SCRIPT = """
groups=" "
while read -r sign group; do
    case $sign in
        +) groups="$groups$group " ;;
        -) case $groups in *" $group "*) groups="${groups%% $group *} ${groups#* $group }" ;; esac ;;
    esac
done
[ "$groups" = " " ] && exit
sleep 2
for group in $groups; do kill -TERM "-$group"; done
sleep 2
for group in $groups; do kill -KILL "-$group"; done
"""


_PATH = {"PATH": "/usr/bin:/bin"}


class Watchdog:
    """A shell that reads the process groups in its charge from a pipe. At the pipe's end, which comes when this process is
    gone however it went, it ends those that are left. It has a session of its own: what kills our group leaves it be."""

    def __init__(self) -> None:
        self._groups: set[int] = set()
        self._shell: subprocess.Popen[bytes] | None = None

    def guard(self, group: int) -> None:
        """Take a process group in charge."""
        self._groups.add(group)
        self._tell(f"+ {group}\n")

    def release(self, group: int) -> None:
        """The group is gone, and its number may soon be another's. The shell goes with the last one."""
        self._groups.discard(group)
        if self._groups:
            self._tell(f"- {group}\n")
        else:
            self._close()

    def _tell(self, line: str) -> None:
        with contextlib.suppress(OSError):
            if self._shell is None or self._shell.poll() is not None:
                self._close()
                self._start()
            elif self._shell.stdin is not None:
                self._shell.stdin.write(line.encode())

    def _start(self) -> None:
        if (sh := shutil.which("sh")) is None:
            return
        quiet = subprocess.DEVNULL
        self._shell = subprocess.Popen(  # noqa: S603 - our own words
            [sh, "-c", _SCRIPT], bufsize=0, stdin=subprocess.PIPE, stdout=quiet, stderr=quiet, cwd="/", env=_PATH, start_new_session=True
        )
        assert self._shell.stdin is not None
        self._shell.stdin.write("".join(f"+ {group}\n" for group in self._groups).encode())

    def _close(self) -> None:
        shell, self._shell = self._shell, None
        if shell is not None and shell.stdin is not None:
            shell.kill()  # first: the end of its pipe is its sign to kill
            shell.stdin.close()
            shell.wait()


watchdog = Watchdog()
"""The one of this process."""
