"""What is left for the next program, which belongs to another client: files, memory, names, timers, whatever a kernel keeps."""

from ..attack import Attack, contained, dead, either, nothing, valued

_MARK = "dw_was_here"

ATTACKS = [
    Attack("files", f"""
for folder in (".", "/tmp", "/dev/shm", "/work", "/var/tmp", "/run", "/home", os.path.expanduser("~"), "/dev", "/run/lock", "/dev/mqueue", "/", "out", "in"):
    try:
        with open(folder + "/{_MARK}", "w") as file:
            file.write("x")
    except OSError:
        pass
""", then=f"""
for folder in (".", "/tmp", "/dev/shm", "/work", "/var/tmp", "/run", "/home", os.path.expanduser("~"), "/dev", "/run/lock", "/dev/mqueue", "/", "out", "in"):
    if os.path.exists(folder + "/{_MARK}"):
        reached.append(folder)
""", control=True),
    Attack("plain files", "import pathlib\ntry:\n    pathlib.Path('/tmp/dw_plain').write_text('x')\nexcept OSError: pass\nresult = []",
           then="import pathlib\ntry:\n    result = [pathlib.Path('/tmp/dw_plain').read_text()]\nexcept OSError:\n    result = []", plain=True),
    Attack("modules in the working directory", """
for name in ("json", "re", "site", "sitecustomize", "usercustomize", "math", "doorward", "vault", "socket", "numpy", "pandas"):
    for folder in (".", "/tmp", "/work", os.path.dirname(os.__file__)):
        try:
            with open(f"{folder}/{name}.py", "w") as file:
                file.write("import builtins; builtins.dw_poisoned = True")
        except OSError:
            pass
""", then="""
import builtins, json, re, math
for name in ("site", "sitecustomize", "usercustomize", "numpy", "doorward", "vault"):
    try:
        __import__(name)
    except Exception:
        pass
if hasattr(builtins, "dw_poisoned"):
    reached.append("poisoned")
"""),
    Attack("names and modules", """
import builtins, json
builtins.dw_was_here = True
sys.modules["dw_was_here"] = sys
json.dw_was_here = os.dw_was_here = True
sys.path.insert(0, "/tmp/dw_was_here")
sys.meta_path.insert(0, None) if False else None
dw_was_here = 1
sys.setrecursionlimit(777)
sys.argv.append("dw_was_here")
""", then="""
import builtins, json
if hasattr(builtins, "dw_was_here") or hasattr(json, "dw_was_here") or hasattr(os, "dw_was_here") or "dw_was_here" in sys.modules or "dw_was_here" in globals():
    reached.append("names")
if "/tmp/dw_was_here" in sys.path or sys.getrecursionlimit() == 777 or "dw_was_here" in sys.argv:
    reached.append("settings")
""", control=True),
    Attack("plain names", "dw_was_here = 1\nresult = []", then="try:\n    result = [dw_was_here]\nexcept NameError:\n    result = []", plain=True, control=True),
    Attack("builtins are replaced", """
import builtins
builtins.print = builtins.len = builtins.open = lambda *a, **k: "dw_was_here"
builtins.__import__ = lambda *a, **k: 1 / 0
""", contained, then="import json\nreached.extend([1] if len([1]) != 1 or json.dumps([]) != '[]' else [])"),
    Attack("variables of the environment", """
os.environ["DW_WAS_HERE"] = "1"
os.putenv("DW_WAS_HERE", "1")
libc.setenv(b"LD_PRELOAD", b"/tmp/x.so", 1)
os.environ["PYTHONPATH"] = "/tmp"
""", then="""
reached.extend(name for name in ("DW_WAS_HERE", "LD_PRELOAD", "PYTHONPATH") if name in os.environ)
""", control=True),
    Attack("working directory, mask, niceness, limits", """
import resource
os.chdir("/")
os.umask(0)
os.nice(7)
for name in ("RLIMIT_NOFILE", "RLIMIT_AS", "RLIMIT_CPU", "RLIMIT_NPROC", "RLIMIT_FSIZE"):
    try:
        resource.setrlimit(getattr(resource, name), (100 if name != "RLIMIT_AS" else 1 << 33, resource.getrlimit(getattr(resource, name))[1]))
    except (OSError, ValueError):
        pass
signal.signal(signal.SIGTERM, signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
""", then="""
import resource
if os.getcwd() == "/":
    reached.append("cwd")
if os.umask(0o22) == 0:
    reached.append("umask")
if os.nice(0) == 7:
    reached.append("niceness")
if resource.getrlimit(resource.RLIMIT_NOFILE)[0] == 100 or resource.getrlimit(resource.RLIMIT_CPU)[0] == 100:
    reached.append("limits")
if signal.SIGUSR1 in signal.pthread_sigmask(signal.SIG_BLOCK, set()) or signal.getsignal(signal.SIGTERM) == signal.SIG_IGN:
    reached.append("signals")
""", control=True),
    Attack("System V memory, queues and semaphores", """
for name, words in (("shmget", (0x4457, 4096, 0o1666)), ("msgget", (0x4457, 0o1666)), ("semget", (0x4457, 1, 0o1666))):
    syscall(name, *words)
""", then="""
for name, words in (("shmget", (0x4457, 0, 0)), ("msgget", (0x4457, 0)), ("semget", (0x4457, 0, 0))):
    got, wrong = syscall(name, *words)
    if got >= 0:
        reached.append(name)
"""),
    Attack("System V memory of the host", """
if HOST["shared"]:
    number = libc.shmget(HOST["shared"], 0, 0)
    libc.shmat.restype = ctypes.c_void_p
    if number >= 0:
        leaks("shared memory", ctypes.string_at(libc.shmat(number, None, 0x1000), 64))
for name in ("shm", "msg", "sem"):
    try:
        lines = open("/proc/sysvipc/" + name).read().splitlines()[1:]
        reached.extend(f"{name}: {line.strip()}" for line in lines)
    except OSError:
        pass
""", control=True),
    Attack("POSIX memory and queues", """
from multiprocessing import shared_memory
try:
    shared_memory.SharedMemory("dw_was_here", create=True, size=100)
except FAILURES:
    pass
attempt_ = libc.sem_open(b"/dw_was_here", os.O_CREAT, 0o666, 1)
syscall("mq_open", b"dw_was_here", os.O_CREAT | os.O_RDWR, 0o666, 0)
""", then="""
from multiprocessing import shared_memory
attempt("memory", shared_memory.SharedMemory, "dw_was_here")
reached.extend(name for name in (os.listdir("/dev/shm") if os.path.isdir("/dev/shm") else []) if "dw_was_here" in name)
got, wrong = syscall("mq_open", b"dw_was_here", os.O_RDWR, 0, 0)
if got >= 0:
    reached.append("queue")
"""),
    Attack("keys of the kernel", """
syscall("add_key", b"user", b"dw_was_here", b"x", 1, -5)
syscall("add_key", b"user", b"dw_was_here", b"x", 1, -4)
syscall("keyctl", 1, b"dw_was_here")
""", then="""
for ring in (-3, -4, -5):
    got, wrong = syscall("keyctl", 10, ring, b"user", b"dw_was_here", 0)
    if got > 0:
        reached.append(f"key in {ring}")
got, wrong = syscall("request_key", b"user", b"dw_was_here", 0, 0)
if got > 0:
    reached.append("key")
"""),
    Attack("abstract sockets are left", """
survive()
s = socket.socket(socket.AF_UNIX)
s.bind("\\0dw_was_here")
s.listen()
forked(os.setsid, lambda: time.sleep(60))
""", then="""
s = socket.socket(socket.AF_UNIX)
attempt("connected", s.connect, "\\0dw_was_here")
""", control=False),
    Attack("timers", """
signal.signal(signal.SIGALRM, lambda *a: os._exit(3))
signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
threading.Timer(0.05, lambda: os._exit(4)).start()
signal.alarm(1)
result = []
""", either(nothing, dead), then="time.sleep(0.3)"),
    Attack("the machine's name", """
attempt("sethostname", socket.sethostname, "dw-was-here")
libc.sethostname(b"dw-was-here", 11)
libc.setdomainname(b"dw-was-here", 11)
""", then="reached.extend([socket.gethostname()] if socket.gethostname() == 'dw-was-here' else [])"),
    Attack("work at the end (atexit)", """
import atexit
survive()
def later():
    time.sleep(30)
    send(frame({"done": {"value": "late"}}))
atexit.register(later)
result = []
""", then=""),
    Attack("work at the end (__del__)", """
survive()
class Late:
    def __del__(self):
        import time
        send(frame({"id": 1, "call": "vault.forbidden", "args": [], "kwargs": {}}))
        time.sleep(30)
keep = Late()
sys.dw = keep
result = []
"""),
    Attack("work at the end (a thread)", """
import vault
survive()
def later():
    while True:
        time.sleep(0.02)
        try:
            send(frame({"done": {"value": "late"}}))
            vault.read()
        except Exception:
            pass
threading.Thread(target=later, daemon=True).start()
threading.Thread(target=later).start()
result = []
""", either(nothing, contained), timeout=2),
    Attack("work at the end (a child)", """
survive()
if os.fork() == 0:
    os.setsid()
    while True:
        time.sleep(0.02)
        send(frame({"done": {"value": "late"}}))
        send(frame({"id": 1, "call": "vault.read", "args": [], "kwargs": {}}))
result = []
""", either(nothing, contained), timeout=2),
    # Which of its results comes first is the program's own affair: on a busy machine, it may be the child's. None is the next program's.
    Attack("a second result after the first", """
import atexit
for _ in range(3):
    forked(lambda: time.sleep(0.05), lambda: send(frame({"done": {"value": "second"}})))
atexit.register(lambda: send(frame({"done": {"value": "third"}})))
result = []
""", either(nothing, valued("second")), then="result = []"),
    Attack("the zygote is written", """
for pid in (1, os.getppid()):
    for name in ("mem", "environ", "comm", "oom_score_adj", "coredump_filter", "timerslack_ns", "clear_refs", "autogroup"):
        if pid != os.getpid():
            try:
                with open(f"/proc/{pid}/{name}", "wb", buffering=0) as file:
                    file.write(b"dw")
                reached.append(f"{pid}/{name}")
            except OSError:
                pass
"""),
    Attack("memory that is shared with the zygote", """
try:
    maps = open("/proc/self/maps").read()
except OSError:
    maps = ""
for line in maps.splitlines():
    if " rw-s " in line and "/dev/zero" not in line and "memfd:" not in line:
        reached.append(line)
for line in re.findall(r"^([0-9a-f]+)-([0-9a-f]+) rw-s", maps, re.M):
    ctypes.memset(int(line[0], 16), 0, 8)
"""),
    Attack("secrets of the last program", "secret = 'dw-secret-' + 'of-alice'\nkeep = [secret * 1000 for _ in range(100)]\nwith open('secret', 'w') as file: file.write(secret)", then="""
word = ("dw-secret-" + "of-" + "alice").encode()
wanted = word[:9] + b"-of-alice"
try:
    areas = re.findall(r"^([0-9a-f]+)-([0-9a-f]+) rw-p", open("/proc/self/maps").read(), re.M)
    with open("/proc/self/mem", "rb") as memory:
        for first, last in areas:
            size = int(last, 16) - int(first, 16)
            if size < 64 << 20:
                memory.seek(int(first, 16))
                if memory.read(size).count(wanted) > 500:
                    reached.append("memory")
except (OSError, OverflowError, ValueError):
    pass
if os.path.exists("secret"):
    reached.append("file")
"""),
    Attack("random numbers are the same", "import random\nwith open('n', 'w') as file: file.write(str(random.random()))\nresult = []", plain=True),
    Attack("the scheduler", """
try:
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    libc.prctl(29, 100000000)
    libc.prctl(4, 0)
except OSError:
    pass
result = []
""", then="""
if os.sched_getscheduler(0) == os.SCHED_IDLE:
    reached.append("idle")
""", control=True),
]  # fmt: skip
