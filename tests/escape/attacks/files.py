"""Files of the host: read, written, watched, reached by a detour."""

from ..attack import Attack, nothing_or_dead

ATTACKS = [
    Attack("files of everybody", "for path in HOST['canaries']: look(path)", control=True),
    Attack("without Python's open", """
for path in HOST["canaries"]:
    fd = libc.open(path.encode(), os.O_RDONLY)
    if fd >= 0:
        leaks(path, os.read(fd, 100))
""", control=True),
    Attack("plain open", "result = [open(path).read() for path in HOST['canaries']]", lambda o: "read" if o.ok else "", plain=True, control=True),
    Attack("pathlib", """
import pathlib
try:
    result = [pathlib.Path(path).read_text() for path in HOST["canaries"]]
except OSError:
    result = []
""", plain=True, control=True),
    Attack("io and codecs and bz2", """
import bz2, codecs, fileinput, io, linecache, shutil, sqlite3, tarfile, tokenize, zipfile
for path in HOST["canaries"]:
    for opened in (io.FileIO, codecs.open, tokenize.open, io.open_code, os.fdopen):
        try:
            leaks(path, opened(path).read())
        except (OSError, TypeError):
            pass
    leaks(path, "".join(linecache.getlines(path)))
    try:
        shutil.copy(path, "copy")
        look("copy")
    except OSError:
        pass
""", control=True),
    Attack("the folder is listed", """
for folder in (HOST["folder"], HOST["drop"]):
    attempt("listed " + folder, os.listdir, folder)
    attempt("found " + folder, os.stat, folder)
""", control=True),
    Attack("the folder is written", """
attempt("wrote", open, HOST["drop"] + "/x", "w")
attempt("made", os.mkdir, HOST["folder"] + "/made")
attempt("linked", os.symlink, "/etc/passwd", HOST["folder"] + "/link")
attempt("renamed", os.rename, HOST["canaries"][0], HOST["folder"] + "/renamed")
attempt("truncated", os.truncate, HOST["canaries"][0], 0)
attempt("removed", os.unlink, HOST["canaries"][0])
attempt("changed", os.chmod, HOST["canaries"][0], 0o600)
"""),
    Attack("up from the working directory", """
for up in range(1, 12):
    for path in HOST["canaries"]:
        look("../" * up + path)
        look("/proc/self/cwd/" + "../" * up + path)
        look("/proc/self/root" + path)
        look("/proc/1/root" + path)
""", control=True),
    Attack("symbolic and hard links", """
for n, path in enumerate(HOST["canaries"]):
    try:
        os.symlink(path, f"link{n}")
        look(f"link{n}")
    except OSError:
        pass
    try:
        os.link(path, f"hard{n}")
        look(f"hard{n}")
    except OSError:
        pass
    try:
        os.unlink(f"link{n}"); os.unlink(f"hard{n}")
    except OSError:
        pass
""", control=True),
    Attack("the whole tree is searched", """
end = time.monotonic() + 3
for folder, folders, files in os.walk("/"):
    folders[:] = [name for name in folders if os.path.join(folder, name) not in ("/proc", "/sys", "/usr", "/opt", "/lib", "/venv", "/python")]
    for name in files[:200]:
        if "canary" in name or name.startswith("dw-"):
            look(os.path.join(folder, name), 4096)
    if time.monotonic() > end:
        break
"""),
    Attack("secrets of the system", """
for path in ("/etc/shadow", "/etc/gshadow", "/etc/ssh/ssh_host_rsa_key", "/root/.ssh/id_rsa", "/root/.bashrc", "/root/.profile", "/home",
             "/var/run/docker.sock", "/run/docker.sock", "/run/containerd/containerd.sock", "/run/podman/podman.sock", "/var/lib/docker",
             "/run/secrets/kubernetes.io/serviceaccount/token", "/root/.docker/config.json", "/root/.aws/credentials",
             "/etc/docker/key.json", "/proc/kcore", "/proc/kallsyms_all", "/dev/mem", "/dev/kmem", "/dev/port", "/boot", "/lost+found"):
    try:
        if os.path.isdir(path):
            if os.listdir(path):
                reached.append(path)
        else:
            with open(path, "rb") as file:
                if file.read(1):
                    reached.append(path)
    except OSError:
        pass
if any(name in reached for name in ("/etc/shadow",)) and all(part.split(":")[1] in ("*", "!", "!*", "") for part in open("/etc/shadow").read().split()):
    reached.remove("/etc/shadow")
"""),
    Attack("the devices of the host", """
import stat
for folder, _, names in os.walk("/dev"):
    for name in names:
        path = os.path.join(folder, name)
        try:
            about = os.stat(path)
        except OSError:
            continue
        if stat.S_ISBLK(about.st_mode):
            attempt("opened the block device " + path, os.open, path, os.O_RDONLY)
        if name in ("mem", "kmem", "port", "kmsg", "fuse", "kvm", "vhost-vsock", "vsock", "snapshot", "loop-control", "uinput", "hpet", "nvram"):
            attempt("opened " + path, os.open, path, os.O_RDWR)
attempt("/dev/kmsg", os.open, "/dev/kmsg", os.O_WRONLY)
""", control=True),
    Attack("devices are made", """
import stat
for kind, device in ((stat.S_IFCHR, os.makedev(1, 1)), (stat.S_IFCHR, os.makedev(1, 2)), (stat.S_IFBLK, os.makedev(8, 0)), (stat.S_IFBLK, os.makedev(254, 0))):
    for folder in (".", "/tmp", "/dev/shm", "/dev"):
        path = f"{folder}/device{device}"
        try:
            os.mknod(path, kind | 0o666, device)
        except OSError:
            continue
        attempt("made and opened " + path, os.open, path, os.O_RDONLY)
        os.unlink(path)
"""),
    Attack("handles of files (shocker)", """
class Handle(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_uint), ("type", ctypes.c_int), ("data", ctypes.c_ubyte * 8)]
for inode in (2, 128, 256, 64):
    handle = Handle(8, 1, (ctypes.c_ubyte * 8)(*struct.pack("<II", inode, 0)))
    for place in ("/", ".", "/usr", "/etc", "/dev", "/etc/hosts", "/etc/resolv.conf", "/etc/hostname"):
        try:
            base = os.open(place, os.O_RDONLY)
        except OSError:
            continue
        fd, wrong = syscall("open_by_handle_at", base, ctypes.addressof(handle), os.O_RDONLY)
        if fd >= 0:
            reached.append(f"inode {inode} of {place}: {os.listdir(fd)}")
        os.close(base)
""", nothing_or_dead),
    Attack("the root is changed for another", """
for name in (b"/", b"/proc/1/root", b"/tmp", b"."):
    if libc.chroot(name) == 0:
        reached.append("chroot " + name.decode())
    allowed("pivot_root", name, name, but=(errno.EINVAL,)) if False else None
got, wrong = syscall("pivot_root", b".", b".")
if got == 0 or wrong not in (errno.EPERM, errno.ENOSYS):
    reached.append(f"pivot_root: {wrong}")
""", nothing_or_dead, control=False),
    Attack("the read-only parts are written", """
import site, sysconfig
places = {os.path.dirname(os.__file__), sysconfig.get_path("purelib"), sysconfig.get_path("scripts"), "/usr/bin", "/usr/lib", "/bin", "/etc", "/lib", os.path.dirname(os.path.realpath(sys.executable)), "/sbin", "/opt"}
for place in places:
    try:
        with open(place + "/dw_escape.py", "w") as file:
            file.write("x")
        reached.append("wrote in " + place)
        os.unlink(place + "/dw_escape.py")
    except OSError:
        pass
try:
    with open(os.__file__, "a"):
        reached.append("opened " + os.__file__)
except OSError:
    pass
"""),
    Attack("the rights of read-only parts", """
for path in (os.__file__, os.path.realpath(sys.executable), "/etc/passwd", "/bin/sh", "/"):
    attempt("chmod " + path, os.chmod, path, 0o777)
    attempt("utime " + path, os.utime, path)
    attempt("xattr " + path, os.setxattr, path, "user.x", b"x")
    attempt("chown " + path, os.chown, path, 12345, 12345)
"""),
    Attack("memory of the kernel's settings", """
for path in ("/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe", "/proc/sys/kernel/hostname", "/proc/sysrq-trigger", "/proc/sys/vm/overcommit_memory",
             "/proc/sys/kernel/randomize_va_space", "/proc/sys/fs/binfmt_misc/register", "/sys/kernel/uevent_helper", "/sys/fs/cgroup/release_agent",
             "/proc/self/oom_score_adj_x", "/proc/sys/net/ipv4/ip_forward", "/sys/kernel/debug", "/proc/acpi", "/proc/irq/default_smp_affinity"):
    try:
        fd = os.open(path, os.O_WRONLY)
    except OSError:
        continue
    reached.append("opened " + path)
    os.close(fd)
"""),
    Attack("control groups", """
for root, folders, names in os.walk("/sys/fs/cgroup"):
    for name in names:
        if name in ("release_agent", "cgroup.procs", "memory.limit_in_bytes", "memory.max", "pids.max", "tasks", "notify_on_release", "devices.allow"):
            try:
                os.close(os.open(os.path.join(root, name), os.O_WRONLY))
                reached.append(os.path.join(root, name))
            except OSError:
                pass
    attempt("made a group in " + root, os.mkdir, root + "/dw-escape") if root.count("/") < 6 else None
"""),
    Attack("locks of files that others use", """
import fcntl, glob
shown = {os.__file__, os.path.realpath(sys.executable), libc._name and "" or "/usr/lib", "/", "/dev", "/proc", "/proc/self", *HOST["canaries"], HOST["folder"]}
shown |= {*glob.glob("/usr/lib/*/libc.so.6"), *glob.glob("/lib/*/libc.so.6"), "/dev/null", "/dev/zero", "/dev/urandom", "/usr/share/zoneinfo"}
for path in filter(None, shown):
    try:
        fd = os.open(path, os.O_RDONLY)
    except OSError:
        continue
    for how in (fcntl.LOCK_SH, fcntl.LOCK_EX):
        attempt(f"flock {how} of {path}", fcntl.flock, fd, how | fcntl.LOCK_NB)
        got, wrong = syscall("flock", fd, how | fcntl.LOCK_NB)
        if got == 0:
            reached.append(f"flock {how} of {path}, by its number")
    attempt("lockf of " + path, fcntl.lockf, fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    attempt("a lock of the open file " + path, fcntl.fcntl, fd, 37, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0))
    for command, value in ((1024, fcntl.F_RDLCK), (1024, fcntl.F_WRLCK), (1024 + (1 << 32), fcntl.F_RDLCK), (1026, 0x8000003F), (1040, 1)):
        got, wrong = syscall("fcntl", fd, command, value)
        if got == 0:
            reached.append(f"{command}, {value} of {path}")
    os.close(fd)
""", control=True),
    Attack("where mounts are on the host", """
for pid in ("self", "thread-self", 1, 2, os.getpid(), os.getppid(), f"self/task/{os.getpid()}"):
    for name in ("mountinfo", "mounts", "mountstats"):
        try:
            with open(f"/proc/{pid}/{name}") as file:
                if some := file.read(1000):
                    reached.append(f"{pid}/{name}: {some[:80]}")
        except OSError:
            pass
for name in ("listmount", "statmount", "open_tree"):
    allowed(name, 0, 0, 0, 0)
""", control=True),
    Attack("a file that is shared in memory", """
import mmap
for path in HOST["canaries"] + ["/usr/bin/python3", os.path.realpath(sys.executable), os.__file__]:
    try:
        with open(path, "r+b") as file:
            mmap.mmap(file.fileno(), 0).flush()
            reached.append("mapped to write: " + path)
    except (OSError, ValueError):
        pass
"""),
]  # fmt: skip
