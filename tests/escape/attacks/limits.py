"""Limits: memory, processes and calls."""

from ..attack import Attack, contained, dead, either, failed, full, late, nothing, stopped

_bounded = either(full, failed("MemoryError", "OSError", "BlockingIOError", "RuntimeError", "error"), dead)

ATTACKS = [
    # Memory
    Attack("one large object", "x = b'x' * (1 << 30)\nresult = len(x)", _bounded, plain=True),
    Attack("a list without end", "x = []\nwhile True: x.append('x' * 1000000 + str(len(x)))", _bounded, plain=True),
    Attack("a list that doubles", "x = [0]\nwhile True: x = x + x", _bounded, plain=True),
    Attack("a dictionary without end", "x = {}\nn = 0\nwhile True:\n    x[n] = str(n)\n    n += 1", either(_bounded, late), plain=True, timeout=8),
    Attack("malloc", """
libc.malloc.restype = ctypes.c_void_p
got = 0
while True:
    place = libc.malloc(ctypes.c_size_t(16 << 20))
    if not place:
        break
    ctypes.memset(place, 1, 16 << 20)
    got += 16
if got > 320:
    reached.append(f"{got} MiB")
""", either(nothing, full, dead)),
    Attack("mapped memory", """
import mmap
maps = []
try:
    while len(maps) < 64:
        m = mmap.mmap(-1, 16 << 20)
        m.write(b"x" * (16 << 20))
        maps.append(m)
    reached.append("1 GiB")
except FAILURES:
    pass
""", either(nothing, full, dead)),
    Attack("shared memory", """
import mmap
maps = []
try:
    while len(maps) < 64:
        m = mmap.mmap(-1, 16 << 20, flags=mmap.MAP_SHARED | mmap.MAP_ANONYMOUS)
        for page in range(0, 16 << 20, 4096):
            m[page] = 1
        maps.append(m)
    reached.append("1 GiB")
except FAILURES:
    pass
""", either(nothing, full, dead)),
    Attack("memory files", """
fds, got = [], 0
try:
    while got < 512:
        fds.append(os.memfd_create("x"))
        for _ in range(8):
            os.write(fds[-1], b"x" * (8 << 20))
            got += 8
    reached.append(f"{got} MiB")
except FAILURES:
    pass
""", either(nothing, full, dead), timeout=8, control=True),
    Attack("files in memory (tmpfs)", """
got = 0
for folder in (".", "/tmp", "/dev/shm", "/run", "/var/tmp", "/run/lock"):
    for n in range(200):
        try:
            with open(f"{folder}/big{n}", "wb") as file:
                for _ in range(4):
                    file.write(b"x" * (4 << 20))
                    got += 4
        except FAILURES:
            break
if got > 320:
    reached.append(f"{got} MiB of files")
""", either(nothing, full, dead, stopped("disk")), timeout=8),
    Attack("memory of many processes", """
survive()
children, (filled, full), (ended, end) = [], os.pipe(), os.pipe()
for n in range(12):
    try:
        pid = os.fork()
    except FAILURES:
        break
    if pid == 0:
        try:
            os.close(end)
            x = b"x" * (100 << 20)
            os.close(full)
            os.read(ended, 1)
            os._exit(7)
        finally:
            os._exit(1)
    children.append(pid)
os.close(full)
os.read(filled, 1)  # until each has its memory, or is dead
os.close(end)
lived = sum(os.waitpid(pid, 0)[1] == 7 << 8 for pid in children)
if lived > 4:
    reached.append(f"{lived * 100} MiB in {lived} processes")
""", either(nothing, full, dead), timeout=8),
    Attack("sockets full of data", """
pairs = []
try:
    while len(pairs) < 20000:
        a, b = socket.socketpair()
        a.setblocking(False)
        a.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
        try:
            while True:
                a.send(b"x" * 65536)
        except BlockingIOError:
            pass
        pairs.append((a, b))
except FAILURES:
    pass
if len(pairs) > 5000:
    reached.append(f"{len(pairs)} pairs")
""", either(nothing, full, dead, failed())),
    Attack("pipes full of data", """
import fcntl
pipes = []
try:
    while len(pipes) < 10000:
        r, w = os.pipe()
        pipes.append((r, w))
        try:
            fcntl.fcntl(w, 1031, 1 << 20)
        except OSError:
            pass
        os.set_blocking(w, False)
        try:
            while True:
                os.write(w, b"x" * 65536)
        except BlockingIOError:
            pass
except OSError:
    pass
if len(pipes) > 5000:
    reached.append(f"{len(pipes)} pipes")
""", either(nothing, full, dead)),
    Attack("a deep recursion", "def f(n): return f(n + 1)\nf(0)", failed(), plain=True),
    Attack("a recursion without a limit", """
sys.setrecursionlimit(1 << 30)
threading.stack_size(64 << 20)
def f(n): return f(n + 1) + 1
t = threading.Thread(target=f, args=(0,)); t.start(); t.join()
f(0)
""", either(dead, failed(), nothing), timeout=5),
    Attack("a recursion of C", """
sys.setrecursionlimit(1 << 30)
x, y = [], []
for _ in range(300000):
    x, y = [x], [y]
x == y
""", either(dead, failed(), nothing), timeout=5),
    Attack("a compressed bomb", """
import zlib
bomb = zlib.compress(bytes(1 << 20), 9)
for _ in range(2):
    bomb = zlib.compress(bomb * 1000, 9)
while True:
    bomb = zlib.decompress(bomb) * 4
""", either(_bounded, failed("error")), timeout=5),
    # Processes
    Attack("a fork bomb", "survive()\nwhile True:\n    try: os.fork()\n    except OSError: pass", contained, timeout=1),
    Attack("a fork bomb of tools", """
survive()
try:
    subprocess.Popen(["sh", "-c", "b() { b | b & }; b; sleep 5"])
except FAILURES:
    pass
time.sleep(30)
""", either(late, full, dead, failed()), timeout=1),
    Attack("more processes than the limit", """
survive()
count = 0
try:
    for n in range(400):
        if os.fork() == 0:
            time.sleep(60)
            os._exit(0)
        count += 1
except OSError:
    pass
if count > 64:
    reached.append(f"{count} processes")
""", either(nothing, dead, stopped("processes")), timeout=5),
    Attack("more threads than the limit", """
survive()
count = 0
event = threading.Event()
threading.stack_size(65536)
try:
    for n in range(2000):
        threading.Thread(target=event.wait, daemon=True).start()
        count += 1
except (RuntimeError, OSError, MemoryError):
    pass
if count > 64:
    reached.append(f"{count} threads")
""", either(nothing, dead, stopped("processes")), timeout=5),
    Attack("children that are made faster than they die", """
survive()
while True:
    try:
        if os.fork() == 0:
            os.setsid()
            if os.fork() != 0:
                os._exit(0)
    except OSError:
        pass
""", contained, timeout=1),
    # Calls
    Attack("calls without end", """
import vault
made = 0
while made < 500:
    try:
        vault.read()
    except Exception:
        pass
    made += 1
result = []
""", either(nothing, stopped("calls", " s")), plain=True, timeout=8),
    Attack("questions without end", """
import doorward
while True:
    try:
        doorward.search("x")
    except Exception:
        pass
""", stopped("calls"), plain=True, timeout=30),
    Attack("sleeps without end", "import time\nwhile True: time.sleep(0)", stopped("calls", " s"), plain=True, timeout=1),
    Attack("a question of more than can be sent", """
import doorward
try:
    doorward.search("x" * 20000000)
except ValueError:
    pass
result = []
""", nothing, plain=True),
    Attack("calls at once", """
import asyncio, vault
result = await asyncio.gather(*(vault.read() for _ in range(500)), return_exceptions=True)
result = sum(isinstance(r, dict) for r in result) > 50 and ["more calls than allowed"] or []
""", either(nothing, stopped("calls"), failed()), plain=True, timeout=8),
    Attack("a call with too much", """
import vault
big = "x" * 30000000
for n in range(3):
    try:
        vault.write(text=big, more=[big[:1000]] * 100)
    except Exception:
        pass
result = []
""", either(nothing, full, stopped("calls", "parts"), dead), plain=True),
    Attack("a call with too many parts", """
import vault
parts = [0] * 3000000
try:
    vault.write(parts=parts)
except Exception:
    pass
result = []
""", either(nothing, full, dead, late), plain=True),
]  # fmt: skip
