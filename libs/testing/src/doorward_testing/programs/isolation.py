"""Two programs that run at the same time in sandboxes of their own: one shows what it has, the other looks for it."""

from __future__ import annotations

_FOLDERS = """
FOLDERS = ["/tmp", "/work", "/dev/shm", "/var/tmp", "/run/lock", os.getcwd(), os.path.expanduser("~")]
NAME = "doorward-neighbour"
"""

SHOWING = f"""
import calc, ctypes, os, socket
{_FOLDERS}
for folder in FOLDERS:
    try:
        open(os.path.join(folder, NAME), "w").close()
    except OSError:
        pass
listeners = []
def listen(family, address):
    try:
        listener = socket.socket(family)
        listener.bind(address)
        listener.listen()
        listener.setblocking(False)
        listeners.append(listener)
    except (OSError, AttributeError):
        pass
listen(socket.AF_UNIX, "\\0" + NAME)
listen(socket.AF_UNIX, "/tmp/" + NAME + "-socket")
listen(socket.AF_INET, ("127.0.0.1", 48213))
libc = ctypes.CDLL(None)
libc.prctl(15, NAME[:15].encode(), 0, 0, 0)
shared = libc.shmget(48213, 4096, 0o1666)
calc.meet(n=2)
calc.meet(n=4)
libc.shmctl(shared, 0, None)
result = []
for folder in FOLDERS:
    for name in (NAME, NAME + "-socket"):
        try:
            os.unlink(os.path.join(folder, name))
        except OSError:
            pass
for listener in listeners:
    try:
        listener.accept()
        result.append(str(listener.getsockname()))
    except OSError:
        pass
"""
"""Its value are the listeners that the other reached. It leaves nothing, wherever it ran."""

LOOKING = f"""
import calc, ctypes, os, socket
{_FOLDERS}
calc.meet(n=2)
result = [folder for folder in FOLDERS if os.path.lexists(os.path.join(folder, NAME))]
def reach(family, address):
    try:
        with socket.socket(family) as tried:
            tried.settimeout(1)
            tried.connect(address)
            result.append(str(address))
    except (OSError, AttributeError):
        pass
reach(socket.AF_UNIX, "\\0" + NAME)
reach(socket.AF_UNIX, "/tmp/" + NAME + "-socket")
reach(socket.AF_INET, ("127.0.0.1", 48213))
try:
    pids = [name for name in os.listdir("/proc") if name.isdigit()]
except OSError:
    pids = []
for pid in pids:
    try:
        if open("/proc/" + pid + "/comm").read().strip() == NAME[:15]:
            result.append("process " + pid)
            os.kill(int(pid), 9)
    except OSError:
        pass
if ctypes.CDLL(None).shmget(48213, 4096, 0) >= 0:
    result.append("shared memory")
calc.meet(n=4)
"""
"""Its value is what it found."""
