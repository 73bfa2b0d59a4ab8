# What the attacks share; it runs in the sandbox, before each of them.
import ctypes, errno, os, platform, re, signal, socket, struct, subprocess, sys, threading, time

result = reached = []
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
ARM = platform.machine() == "aarch64"
FAILURES = (OSError, ImportError, ValueError, RuntimeError, AttributeError, MemoryError, subprocess.SubprocessError)
NUMBERS = {  # of system calls: x86_64, aarch64
    "ptrace": (101, 117), "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51), "unshare": (272, 97),
    "setns": (308, 268), "clone": (56, 220), "clone3": (435, 435), "bpf": (321, 280), "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426), "io_uring_register": (427, 427), "keyctl": (250, 219), "add_key": (248, 217), "request_key": (249, 218),
    "perf_event_open": (298, 241), "userfaultfd": (323, 282), "kexec_load": (246, 104), "kexec_file_load": (320, 294),
    "init_module": (175, 105), "finit_module": (313, 273), "delete_module": (176, 106), "open_by_handle_at": (304, 265),
    "name_to_handle_at": (303, 264), "personality": (135, 92), "pidfd_open": (434, 434), "pidfd_getfd": (438, 438),
    "pidfd_send_signal": (424, 424), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "kcmp": (312, 272),
    "syslog": (103, 116), "swapon": (167, 224), "reboot": (169, 142), "sethostname": (170, 161), "setdomainname": (171, 162),
    "acct": (163, 89), "settimeofday": (164, 170), "clock_settime": (227, 112), "adjtimex": (159, 171), "clock_adjtime": (305, 266),
    "mknodat": (259, 33), "fsopen": (430, 430), "fsmount": (432, 432), "fspick": (433, 433), "open_tree": (428, 428),
    "move_mount": (429, 429), "mount_setattr": (442, 442), "quotactl": (179, 60), "lookup_dcookie": (212, 18), "vhangup": (153, 58),
    "iopl": (172, -1), "ioperm": (173, -1), "modify_ldt": (154, -1), "fanotify_init": (300, 262), "migrate_pages": (256, 238),
    "move_pages": (279, 239), "mbind": (237, 235), "set_mempolicy": (238, 237), "process_madvise": (440, 440), "shmget": (29, 194),
    "msgget": (68, 186), "semget": (64, 190), "mq_open": (240, 180), "memfd_create": (319, 279), "memfd_secret": (447, 447),
    "execveat": (322, 281), "tkill": (200, 130), "tgkill": (234, 131), "kill": (62, 129), "socket": (41, 198), "setuid": (105, 146),
    "setresuid": (117, 147), "setgroups": (116, 159), "capset": (126, 91), "prctl": (157, 167), "sched_setaffinity": (203, 122),
    "nfsservctl": (180, 42), "landlock_create_ruleset": (444, 444), "flock": (73, 32), "fcntl": (72, 25), "listmount": (458, 458), "statmount": (457, 457), "cachestat": (451, 451), "vmsplice": (278, 75),
}  # fmt: skip


def syscall(name, *args):
    """The result of a system call, and its errno where it failed; (-1, ENOSYS) where there is none of that name."""
    number = NUMBERS[name][ARM]
    if number < 0:
        return -1, errno.ENOSYS
    ctypes.set_errno(0)
    got = libc.syscall(
        ctypes.c_long(number),
        *(
            arg if isinstance(arg, (bytes, ctypes.Array)) else ctypes.c_long(arg) if isinstance(arg, int) else arg
            for arg in args
        ),
    )
    return got, ctypes.get_errno()


def allowed(name, *args, but=()):
    """Whether a system call was let through: it succeeded, or failed by something else than a refusal."""
    got, wrong = syscall(name, *args)
    if got >= 0 or wrong not in (errno.EPERM, errno.ENOSYS, errno.EACCES, *but):
        reached.append(f"{name}{args!r:.60} -> {got} {errno.errorcode.get(wrong, wrong)}")
    return got >= 0


def attempt(what, do, *args, **options):
    """What `do` returns, noted as reached; None, if it was refused."""
    try:
        got = do(*args, **options)
    except FAILURES:
        return None
    reached.append(what)
    return got if got is not None else True


def leaks(where, data):
    """Note the canaries of the host in data."""
    data = data if isinstance(data, bytes) else str(data).encode()
    reached.extend(f"{where}: {found.decode()}" for found in set(re.findall(rb"canary-[0-9a-f]{16}", data)))


def look(path, most=1 << 20):
    """Note the canaries in a file that can be read."""
    try:
        with open(path, "rb") as file:
            leaks(path, file.read(most))
    except FAILURES:
        pass


def survive():
    """Be known on the host by a name, which children inherit; nothing of that name may outlive the run."""
    libc.prctl(15, HOST["survivor"].encode(), 0, 0, 0)  # noqa: F821 (the host writes `HOST` above this text)


def forked(*work):
    """A child process that does the work and ends; its process id, or 0 if there is none."""
    try:
        pid = os.fork()
    except FAILURES:
        return 0
    if pid == 0:
        try:
            for do in work:
                do()
        finally:
            os._exit(0)
    return pid


def native(code):
    """Run machine code; what it leaves in the register of results."""
    import mmap

    page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    page.write(code)
    call = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))
    return call()


def channels():
    """The file descriptors that may be the way to the host: sockets and pipes besides those of what is printed."""
    import stat

    found = []
    for fd in (0, *range(3, 1024)):
        try:
            mode = os.fstat(fd).st_mode
        except OSError:
            continue
        if stat.S_ISSOCK(mode) or stat.S_ISFIFO(mode):
            found.append(fd)
    return found


def send(data, seconds=1.0):
    """Write all of it to everything that may be the way to the host, as long as that takes it."""
    import select

    for fd in channels():
        try:
            left, end = data, time.monotonic() + seconds
            os.set_blocking(fd, False)
            while left and time.monotonic() < end and select.select([], [fd], [], seconds)[1]:
                left = left[os.write(fd, left) :]
            os.set_blocking(fd, True)
        except OSError:
            pass


def frame(value, raw=b""):
    """A frame as sandbox and host exchange them."""
    import json

    line = value if isinstance(value, bytes) else json.dumps(value).encode()
    data = line + (b"\n" + raw if raw else b"")
    return struct.pack(">I", len(data)) + data
