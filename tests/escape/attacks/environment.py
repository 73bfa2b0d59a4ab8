"""The environment, and file descriptors that the gateway has open."""

from ..attack import Attack, nothing_or_dead

ATTACKS = [
    Attack("variables", "for name, value in os.environ.items(): leaks(name, value)", control=True),
    Attack("plain variables", "import os\nresult = [v for v in os.environ.values() if v.startswith('canary-')]", plain=True, control=True),
    Attack("the first variables of the process", """
for pid in ("self", "1", str(os.getppid()), "thread-self"):
    look(f"/proc/{pid}/environ")
    look(f"/proc/{pid}/cmdline")
""", control=True),
    Attack("variables in memory", """
environ = ctypes.POINTER(ctypes.c_char_p).in_dll(libc, "environ")
n = 0
while environ and environ[n]:
    leaks("environ", environ[n])
    n += 1
try:
    areas = re.findall(r"^([0-9a-f]+)-([0-9a-f]+) rw.*\\[stack\\]", open("/proc/self/maps").read(), re.M)
    with open("/proc/self/mem", "rb") as memory:
        for first, last in areas:
            memory.seek(int(first, 16))
            leaks("stack", memory.read(int(last, 16) - int(first, 16)))
except OSError:
    pass
""", control=True),
    Attack("a child's variables", """
for words in (["env"], ["sh", "-c", "set"], [sys.executable, "-c", "import os; print(dict(os.environ))"]):
    try:
        leaks(words[0], subprocess.run(words, capture_output=True, timeout=5).stdout)
    except FAILURES:
        pass
""", control=True),
    Attack("inherited descriptors", """
import stat
for fd in range(3, 1024):
    try:
        mode = os.fstat(fd).st_mode
        if stat.S_ISREG(mode):
            leaks(f"descriptor {fd}", os.pread(fd, 1000, 0))
        elif stat.S_ISDIR(mode):
            reached.append(f"descriptor {fd} is the folder {os.listdir(fd)}")
    except OSError:
        pass
""", control=True),
    Attack("descriptors by proc", """
for pid in ("self", "1", str(os.getppid())):
    for place in ("fd", "map_files", "root", "cwd"):
        try:
            names = os.listdir(f"/proc/{pid}/{place}")
        except OSError:
            continue
        for name in names:
            path = f"/proc/{pid}/{place}/{name}"
            try:
                target = os.readlink(path)
            except OSError:
                continue
            if "canary" in target or "doorward.toml" in target or target.endswith((".db", ".sock")):
                reached.append(path + " -> " + target)
            if place == "fd" and name == str(HOST["inherited"]):
                look(path)
""", control=True),
    Attack("descriptors of other processes", """
for pid in {1, os.getppid(), HOST["gateway"], *HOST["pids"]} - {os.getpid()}:
    fd, wrong = syscall("pidfd_open", pid, 0)
    if fd < 0:
        continue
    for other in range(64):
        got, wrong = syscall("pidfd_getfd", fd, other, 0)
        if got >= 0:
            reached.append(f"descriptor {other} of process {pid}")
""", nothing_or_dead, control=True),
    Attack("a folder is left by its descriptor", """
for fd in range(0, 256):
    for path in HOST["canaries"]:
        try:
            other = os.open(path.lstrip("/"), os.O_RDONLY, dir_fd=fd)
            leaks(f"descriptor {fd}", os.read(other, 100))
        except OSError:
            pass
    try:
        os.fchdir(fd)
        look("../../../../../../" + HOST["canaries"][0])
    except OSError:
        pass
"""),
    Attack("descriptors that the channel passes", """
import array
for fd in channels():
    try:
        s = socket.socket(fileno=os.dup(fd))
        s.settimeout(0.1)
        data, extra, flags, address = s.recvmsg(1, socket.CMSG_SPACE(64), socket.MSG_PEEK | socket.MSG_DONTWAIT)
        for level, kind, content in extra:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                reached.append(f"descriptors by {fd}: {array.array('i', content[:len(content) // 4 * 4])}")
    except (OSError, ValueError):
        pass
"""),
    Attack("descriptors are sent to the host", """
import array
with open("mine", "w") as mine:
    for fd in channels():
        try:
            s = socket.socket(fileno=os.dup(fd))
            if s.family == socket.AF_UNIX:
                s.setblocking(False)
                for _ in range(200):
                    s.sendmsg([b"\\0\\0\\0\\2{}"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [mine.fileno()] * 100))])
        except (OSError, ValueError):
            pass
""", lambda outcome: ""),
    Attack("who is at the other end", """
for fd in channels():
    try:
        s = socket.socket(fileno=os.dup(fd))
        pid, uid, gid = struct.unpack("3i", s.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
        if pid in (HOST["gateway"], *HOST["pids"]):
            reached.append(f"the gateway is process {pid}")
        os.kill(pid, 0) if pid > 1 and pid != os.getpid() and pid == HOST["gateway"] else None
    except OSError:
        pass
"""),
    Attack("the configuration and the state", """
import glob
for pattern in ("/**/doorward.toml", "/tmp/**/*.db", "/root/.local/state/doorward/**", "/**/.env"):
    for path in glob.iglob(pattern, recursive=pattern.startswith("/tmp") or "state" in pattern):
        if os.path.exists(path):  # what a pattern begins with is listed without a look
            reached.append(path)
for folder in ("/work", "/root", "/home", "/srv"):
    for name in ("doorward.toml", ".env", "main", "wt"):
        if os.path.exists(f"{folder}/{name}"):
            reached.append(f"{folder}/{name}")
"""),
    Attack("modules of the gateway", """
for name in ("doorward.gateway", "doorward.secrets.store", "doorward.config.config", "mcp", "httpx2", "pydantic_core", "doorward_sandbox_nsjail", "doorward_sandbox_docker"):
    if name in sys.modules:
        reached.append("loaded: " + name)
import gc
for thing in gc.get_objects():
    if type(thing).__module__.startswith(("doorward.gateway", "doorward.calls", "doorward.secrets", "doorward.config")):
        reached.append(repr(type(thing)))
"""),
]  # fmt: skip
