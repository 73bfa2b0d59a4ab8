"""Privileges: ways to get more of them, and system calls that an agent's program has no need of, however they are made."""

from ..attack import Attack, nothing, nothing_or_dead

_REFUSED = {
    "another root": 'allowed("chroot", b"/", but=(errno.EINVAL,)); allowed("pivot_root", b".", b".", but=(errno.EINVAL,))',
    "mounts": """
allowed("mount", b"tmpfs", b"/tmp", b"tmpfs", 0, 0); allowed("mount", b"proc", b"/tmp", b"proc", 0, 0)
allowed("mount", b"/", b"/tmp", 0, 4096, 0); allowed("mount", 0, b"/", 0, 32, 0); allowed("umount2", b"/proc", 2); allowed("umount2", b"/tmp", 2)
""",
    "mounts by the new interface": """
allowed("fsopen", b"tmpfs", 0); allowed("open_tree", -100, b"/", 1); allowed("fspick", -100, b"/", 0); allowed("mount_setattr", -100, b"/", 0, 0, 0)
allowed("move_mount", -100, b"/", -100, b"/tmp", 0)
""",
    "bpf": 'allowed("bpf", 0, ctypes.create_string_buffer(128), 128); allowed("bpf", 5, ctypes.create_string_buffer(128), 128)',
    "io_uring": 'allowed("io_uring_setup", 8, ctypes.create_string_buffer(256)); allowed("io_uring_enter", -1, 0, 0, 0, 0); allowed("io_uring_register", -1, 0, 0, 0)',
    "keys are read and made": """
allowed("keyctl", 0, -3, 0); allowed("keyctl", 1, b"dw"); allowed("keyctl", 0, -5, 1); allowed("add_key", b"user", b"dw", b"x", 1, -3)
allowed("request_key", b"user", b"dw", 0, -3)
""",
    "perf_event_open": 'allowed("perf_event_open", struct.pack("IIQQQQ", 1, 120, 0, 0, 0, 0) + bytes(80), 0, -1, -1, 0)',
    "userfaultfd": 'allowed("userfaultfd", 0); allowed("userfaultfd", 1)',
    "another kernel": 'allowed("kexec_load", 0, 0, 0, 0); allowed("kexec_file_load", -1, -1, 0, 0, 0); allowed("reboot", 0xFEE1DEAD, 672274793, 0x01234567, 0)',
    "modules": 'allowed("init_module", 0, 0, b""); allowed("finit_module", 0, b"", 0); allowed("delete_module", b"dummy", 2048)',
    "namespaces": """
for flag in (0x10000000, 0x20000, 0x20000000, 0x40000000, 0x8000000, 0x4000000, 0x2000000, 0x80, 0x7E020000):
    allowed("unshare", flag)
""",
    "namespaces by clone": """
for flag in (0x10000000, 0x20000, 0x20000000, 0x40000000, 0x8000000, 0x4000000, 0x2000000, 0x10000000 | 0x20000 | 0x40000000):
    got, wrong = syscall("clone", flag | 17, 0, 0, 0, 0)
    if got == 0:
        os._exit(0)
    if got > 0:
        os.waitpid(got, 0)
        reached.append(f"clone {flag:x}")
""",
    "namespaces by clone3": """
class Args(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("flags", "pidfd", "child_tid", "parent_tid", "exit_signal", "stack", "stack_size", "tls", "set_tid", "set_tid_size", "cgroup")]
for flag in (0x10000000, 0x20000000, 0x40000000, 0x200000000):
    args = Args(flags=flag, exit_signal=17)
    got, wrong = syscall("clone3", ctypes.addressof(args), ctypes.sizeof(args))
    if got == 0:
        os._exit(0)
    if got > 0:
        os.waitpid(got, 0)
        reached.append(f"clone3 {flag:x}")
""",
    "namespaces are joined": """
for pid in ("1", "self", str(os.getppid())):
    for kind in ("user", "mnt", "pid", "net", "ipc", "uts", "cgroup"):
        try:
            fd = os.open(f"/proc/{pid}/ns/{kind}", os.O_RDONLY)
        except OSError:
            continue
        allowed("setns", fd, 0, but=(errno.EINVAL,))
allowed("setns", 0, 0, but=(errno.EINVAL, errno.EBADF))
""",
    "personality": 'allowed("personality", 0x40000); allowed("personality", 0x400000)',
    "clocks": """
allowed("settimeofday", struct.pack("qq", 1, 0), 0); allowed("clock_settime", 0, struct.pack("qq", 1, 0))
for mode in (1, 2, 4):
    allowed("adjtimex", struct.pack("I", mode) + bytes(204))
    allowed("clock_adjtime", 0, struct.pack("I", mode) + bytes(204))
""",
    "names of the machine": 'allowed("sethostname", b"escaped", 7); allowed("setdomainname", b"escaped", 7)',
    "ports and segments of the processor": 'allowed("iopl", 3); allowed("ioperm", 0, 8, 1); allowed("modify_ldt", 1, ctypes.create_string_buffer(16), 16, but=(errno.EINVAL,))',
    "logs, accounts, swap, quotas": """
allowed("syslog", 3, ctypes.create_string_buffer(4096), 4096); allowed("syslog", 10, 0, 0); allowed("acct", 0); allowed("swapon", b"/tmp/x", 0)
allowed("quotactl", 0x800007 << 8, 0, 0, 0); allowed("vhangup"); allowed("fanotify_init", 0, 0); allowed("lookup_dcookie", 0, 0, 0)
""",
    "memory of nodes": 'allowed("migrate_pages", 1, 64, 0, 0); allowed("move_pages", 1, 0, 0, 0, 0, 0); allowed("process_madvise", 0, 0, 0, 0, 0, but=(errno.EBADF,))',
    "handles of files": 'allowed("open_by_handle_at", -100, ctypes.create_string_buffer(struct.pack("<Ii", 8, 1) + bytes(8)), 0)',
    "secret memory": 'allowed("memfd_secret", 0)',
}
"""System calls that must be refused (or the sandbox ended for them)."""

_HARMLESS = {"bpf", "io_uring", "perf_event_open", "userfaultfd", "namespaces", "namespaces by clone", "personality"}
"""Those that a control may make on the host."""

_NATIVE = """
if platform.machine() != "x86_64":
    raise SystemExit
def entry32(number, a=0, b=0, c=0):
    return native(b"\\x53" + b"\\xbb" + struct.pack("<I", a) + b"\\xb9" + struct.pack("<I", b) + b"\\xba" + struct.pack("<I", c)
                  + b"\\xb8" + struct.pack("<I", number) + b"\\xcd\\x80" + b"\\x5b" + b"\\xc3")
"""

ATTACKS = [
    *(Attack(name, code, nothing_or_dead, control=name in _HARMLESS) for name, code in _REFUSED.items()),
    Attack("another user", """
for name, words in (("setuid", (0,)), ("setresuid", (0, 0, 0))):
    got, wrong = syscall(name, *words)
    if got == 0:
        reached.append(name)
for do in (os.setuid, os.setgid, os.seteuid, os.setegid):
    attempt(do.__name__, do, 0)
attempt("setgroups", os.setgroups, [0, 27, 999])
attempt("initgroups", os.initgroups, "root", 0)
if os.getuid() == 0:
    reached.append("root")
"""),
    Attack("capabilities", """
try:
    status = open("/proc/self/status").read()
except OSError:
    status = ""
for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
    for found in re.findall(rf"{name}:\\s+(\\w+)", status):
        if int(found, 16) and name != "CapBnd":
            reached.append(f"{name} {found}")
if status and "NoNewPrivs:\\t1" not in status:
    reached.append("new privileges")
if status and "Seccomp:\\t2" not in status:
    reached.append("no filter")
header = struct.pack("Ii", 0x20080522, 0)
got, wrong = syscall("capset", header, struct.pack("6I", *[0xFFFFFFFF] * 6))
if got == 0:
    reached.append("capset")
if libc.prctl(47, 2, 21, 0, 0) == 0:
    reached.append("ambient")
if libc.prctl(8, 1, 0, 0, 0) == 0 and libc.prctl(28, 0, 0, 0, 0) == 0 and os.getuid() == 0:
    reached.append("secure bits")
""", control=True),
    Attack("programs that change the user", """
import stat
for folder in ("/usr/bin", "/bin", "/usr/sbin", "/usr/lib/openssh", "/usr/lib/dbus-1.0"):
    try:
        names = os.listdir(folder)
    except OSError:
        continue
    for name in names:
        path = f"{folder}/{name}"
        try:
            mode = os.stat(path).st_mode
        except OSError:
            continue
        if mode & stat.S_ISUID:
            try:
                out = subprocess.run([path, "-c", "id -u"], input=b"", capture_output=True, timeout=2).stdout
            except FAILURES:
                continue
            if out.strip() == b"0":
                reached.append(path)
"""),
    Attack("a program that changes the user is made", """
import shutil, stat
for folder in (".", "/tmp", "/dev/shm"):
    try:
        path = folder + "/sh"
        shutil.copy("/bin/sh", path)
        os.chmod(path, 0o6755)
        out = subprocess.run([path, "-p", "-c", "id -u"], capture_output=True, timeout=2).stdout
        if out.strip() == b"0":
            reached.append(path)
    except FAILURES:
        pass
"""),
    Attack("a user's program by file capabilities", """
import shutil
try:
    shutil.copy(os.path.realpath(sys.executable), "python")
    os.setxattr("python", "security.capability", struct.pack("<5I", 0x02000001, 0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF))
    reached.append("capabilities of a file")
except FAILURES:
    pass
"""),
    Attack("a root of its own by user namespaces and tools", """
for words in (["unshare", "-Ur", "id", "-u"], ["bwrap", "--ro-bind", "/", "/", "id", "-u"], ["sudo", "-n", "id", "-u"], ["su", "-c", "id -u"], ["newuidmap"], ["nsenter", "-t1", "-a", "id", "-u"], ["docker", "ps"]):
    try:
        out = subprocess.run(words, capture_output=True, timeout=2, stdin=subprocess.DEVNULL)
    except FAILURES:
        continue
    if out.stdout.strip() == b"0" or (words[0] == "docker" and out.returncode == 0):
        reached.append(" ".join(words))
"""),
    Attack("the map of users", """
for name, text in (("uid_map", "0 0 1"), ("gid_map", "0 0 1"), ("setgroups", "allow")):
    for pid in ("self", "1"):
        try:
            with open(f"/proc/{pid}/{name}", "w") as file:
                file.write(text)
            reached.append(name)
        except OSError:
            pass
"""),
    Attack("real time and priority", """
attempt("niceness below zero", os.nice, -1)
attempt("SCHED_FIFO", os.sched_setscheduler, 0, os.SCHED_FIFO, os.sched_param(10))
if (own := os.getpriority(os.PRIO_PGRP, 0)) > -20:  # what it was started with
    attempt("priority of the group", os.setpriority, os.PRIO_PGRP, 0, own - 1)
if libc.mlockall(3) == 0:
    try:
        big = b"x" * (256 << 20)
        reached.append("locked memory")
    except MemoryError:
        pass
""", control=True),
    Attack("limits are raised", """
import resource
for name in [name for name in dir(resource) if name.startswith("RLIMIT_")]:
    soft, hard = resource.getrlimit(getattr(resource, name))
    if hard != resource.RLIM_INFINITY:
        attempt(name, resource.setrlimit, getattr(resource, name), (soft, hard + 1))
        attempt(name, resource.prlimit, 0, getattr(resource, name), (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
"""),
    Attack("another filter takes the place of the first", """
import ctypes
class Filter(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("code", ctypes.c_void_p)]
allow = ctypes.create_string_buffer(struct.pack("<HBBI", 6, 0, 0, 0x7FFF0000))
libc.prctl(22, 2, ctypes.byref(Filter(1, ctypes.addressof(allow))), 0, 0)
libc.prctl(22, 0, 0, 0, 0)
libc.prctl(38, 0, 0, 0, 0)
for name, words in (("unshare", (0x10000000,)), ("keyctl", (0, -3, 0)), ("userfaultfd", (1,)), ("bpf", (0, 0, 0))):
    allowed(name, *words)
""", nothing_or_dead, control=True),
    Attack("system calls of 32 bits (int 0x80)", _NATIVE + """
for name, number, words in (("unshare", 310, (0x10000000,)), ("ptrace", 26, (0, 0, 0)), ("keyctl", 288, (0, 0xFFFFFFFD, 0)), ("socketcall", 102, (1, 0, 0)),
                            ("perf_event_open", 336, (0, 0, 0)), ("personality", 136, (0x40000,)), ("getpid", 20, ()), ("bpf", 357, (0, 0, 0))):
    got = entry32(number, *words)
    if got not in (-errno.EPERM, -errno.ENOSYS, -errno.EACCES):
        reached.append(f"{name} by int 0x80 -> {got}")
""", nothing_or_dead, control=True),
    Attack("system calls of the x32 kind", """
if platform.machine() == "x86_64":
    for name, words in (("unshare", (0x10000000,)), ("keyctl", (0, -3, 0)), ("userfaultfd", (1,)), ("personality", (0x40000,)), ("perf_event_open", (0, 0, 0))):
        for bit in (0x40000000,):
            ctypes.set_errno(0)
            got = libc.syscall(ctypes.c_long(NUMBERS[name][0] | bit), *(ctypes.c_long(word) for word in words))
            if got >= 0 or ctypes.get_errno() not in (errno.EPERM, errno.ENOSYS, errno.EACCES):
                reached.append(f"{name} as x32: {got} {ctypes.get_errno()}")
    for number in (512, 513, 520, 521, 534, 539, 540, 545):
        ctypes.set_errno(0)
        if libc.syscall(ctypes.c_long(number | 0x40000000), 0, 0, 0, 0) >= 0:
            reached.append(f"x32 {number}")
""", nothing_or_dead),
    Attack("system calls with high bits", """
for name, words in (("unshare", (0x10000000,)), ("keyctl", (0, -3, 0)), ("userfaultfd", (1,))):
    number = NUMBERS[name][ARM]
    for bits in (1 << 32, 1 << 63, 0xFFFFFFFF << 32):
        ctypes.set_errno(0)
        got = libc.syscall(ctypes.c_ulong(number | bits), *(ctypes.c_long(word) for word in words))
        if got >= 0:
            reached.append(f"{name} | {bits:x}")
for flags in (0x10000000 | 1 << 32, 0x10000000 | 0xFFFFFFFF << 32):
    got, wrong = syscall("unshare", flags)
    if got == 0:
        reached.append("unshare with high bits")
for family in (2, 16, 17, 40):
    ctypes.set_errno(0)
    got = libc.syscall(ctypes.c_long(NUMBERS["socket"][ARM]), ctypes.c_ulong(family | 1 << 32), ctypes.c_long(3 if family in (16, 17) else 1), ctypes.c_long(0))
    if got >= 0 and family != 2:
        reached.append(f"family {family} with high bits")
""", nothing_or_dead, control=True),
    Attack("every system call that there is", """
quiet = {0, 1, 3, 8, 15, 19, 20, 22, 23, 24, 34, 35, 56, 57, 58, 59, 60, 61, 62, 129, 130, 131, 200, 202, 219, 230, 231, 232, 233, 234, 247, 270, 271, 281, 296, 297, 322, 424, 435,
         7, 11, 9, 10, 12, 25, 28, 30, 31, 32, 33, 37, 38, 48, 67, 72, 73, 86, 93, 94, 95, 96, 97, 98, 99, 101, 109, 112, 115, 128, 133, 134, 135, 139, 172, 220, 221, 260, 436, 441, 449, 454, 455, 456}
try:
    pid = os.fork()
except OSError:  # where a program may start no process, it does it itself
    pid = -1
if pid <= 0:
    signal.alarm(3)
    for number in range(0, 470):
        if number not in quiet:
            libc.syscall(ctypes.c_long(number), *(ctypes.c_long(-1) for _ in range(6)))
    if pid == 0:
        os._exit(0)
    signal.alarm(0)
else:
    os.waitpid(pid, 0)
""", nothing_or_dead),
    Attack("holes of the kernel by odd calls", """
for do in (lambda: os.splice(0, 1, 10), lambda: os.memfd_create("x", 0x10), lambda: os.eventfd(0), lambda: os.pidfd_open(1)):
    try:
        do()
    except (*FAILURES, TypeError):
        pass
s = []
for protocol in range(260):
    try:
        s.append(socket.socket(socket.AF_ALG, socket.SOCK_SEQPACKET, protocol))
        reached.append("AF_ALG")
    except FAILURES:
        pass
for family, option in ((0, 64), (41, 64), (6, 31)):
    a, b = socket.socketpair()
    attempt(f"socket option {family} {option}", a.setsockopt, family, option, bytes(84))
""", nothing),
]  # fmt: skip
