"""Another client's sandbox at the same time, maybe in the same jail: its files, processes, sockets, and its share of what is limited.

`ALICE` is a session of another client, in which everything is planted; `STILL` runs in it after each attack, and finds it as it was.
"""

from ..attack import Attack, contained, nothing, nothing_or_dead

ALICE = """
word = "canary-" + HOST["alice"]
import os, socket, subprocess, threading
for folder in ("/tmp", "/work", "/dev/shm", "."):
    try:
        with open(folder + "/alice", "w") as file:
            file.write(word)
        os.chmod(folder + "/alice", 0o666)
    except OSError:
        pass
os.environ["ALICE"] = word
listener = socket.socket(socket.AF_UNIX)
listener.bind("\\0alice")
listener.listen()
by_path = socket.socket(socket.AF_UNIX)
by_path.bind("/tmp/alice.socket")
by_path.listen()
child = os.fork()
if child == 0:
    try:
        threading.Event().wait(600)
    finally:
        os._exit(0)
result = os.getpid()
"""

STILL = """
import os
with open("alice") as file:
    assert file.read() == word, "the file has changed"
with open("more", "wb") as file:
    file.write(b"x" * (8 << 20))
os.unlink("more")
os.kill(child, 0)
listener.settimeout(0)
by_path.settimeout(0)
for s in (listener, by_path):
    try:
        s.accept()
    except BlockingIOError:
        pass
    else:
        raise AssertionError("somebody connected")
pid = os.fork()
if pid == 0:
    os._exit(0)
os.waitpid(pid, 0)
more = [bytearray(1 << 20) for _ in range(32)]
result = "well"
"""

ATTACKS = [
    Attack("a neighbour's files", """
for folder in ("/tmp", "/work", "/dev/shm", ".", "/var/tmp"):
    look(folder + "/alice")
    for root, folders, names in os.walk(folder):
        for name in names:
            look(os.path.join(root, name), 4096)
for pid in range(1, 64):
    for place in ("root/tmp/alice", "cwd/alice", "root/work/alice", "environ", "cmdline"):
        look(f"/proc/{pid}/{place}")
"""),
    Attack("a neighbour's files are written", """
for folder in ("/tmp", "/work", "/dev/shm"):
    for name in ("alice", "out/alice"):
        try:
            with open(f"{folder}/{name}", "w") as file:
                file.write("mallory")
            os.unlink(f"{folder}/{name}")
        except OSError:
            pass
"""),
    Attack("a neighbour's sockets", """
for name in ("\\0alice", "/tmp/alice.socket"):
    s = socket.socket(socket.AF_UNIX)
    attempt("connected to " + name, s.connect, name)
for path in ("/proc/net/unix", "/proc/1/net/unix"):
    try:
        if "alice" in open(path).read():
            reached.append(path)
    except OSError:
        pass
"""),
    Attack("a neighbour's processes", """
for pid in range(1, 2000):
    if pid in (os.getpid(), os.getppid(), 1):
        continue
    try:
        os.kill(pid, 0)
        reached.append(f"process {pid}")
    except ProcessLookupError:
        pass
    except PermissionError:
        reached.append(f"process {pid} of somebody else")
"""),
    Attack("every process is killed, the neighbour's too", """
for number in (signal.SIGTERM, signal.SIGKILL):
    for pid in (*range(2, 3000), -1):
        if pid != os.getpid():
            try:
                os.kill(pid, number)
            except OSError:
                pass
""", contained, timeout=3),
    Attack("the share of processes", """
survive()
try:
    for n in range(500):
        if os.fork() == 0:
            time.sleep(60)
            os._exit(0)
except OSError:
    pass
""", contained, timeout=3),
    Attack("the share of memory", "x = []\nwhile True: x.append(b'x' * (16 << 20))", contained, timeout=5),
    Attack("the share of the disk", """
for folder in (".", "/tmp", "/dev/shm"):
    try:
        for n in range(64):
            with open(f"{folder}/full{n}", "wb") as file:
                for _ in range(16):
                    file.write(b"x" * (1 << 20))
    except FAILURES:
        pass
    try:
        for n in range(30000):
            os.close(os.open(f"{folder}/i{n}", os.O_CREAT | os.O_WRONLY))
    except OSError:
        pass
""", contained, timeout=5),
    Attack("a neighbour's memory", """
class Piece(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]
room = ctypes.create_string_buffer(64)
mine, other = Piece(ctypes.addressof(room), 64), Piece(id(sys), 64)
for pid in range(2, 200):
    if pid not in (os.getpid(), os.getppid()):
        got, wrong = syscall("process_vm_readv", pid, ctypes.addressof(mine), 1, ctypes.addressof(other), 1, 0)
        if got >= 0 or wrong == errno.EFAULT:
            reached.append(f"memory of {pid}")
        try:
            os.close(os.open(f"/proc/{pid}/mem", os.O_RDWR))
            reached.append(f"mem of {pid}")
        except OSError:
            pass
""", nothing_or_dead),
    Attack("a neighbour's queues and memory", """
try:
    for line in open("/proc/sysvipc/shm").read().splitlines()[1:]:
        reached.append(line)
except OSError:
    pass
for name in (os.listdir("/dev/shm") if os.path.isdir("/dev/shm") else []):
    reached.append(name)
""", nothing),
]  # fmt: skip
