"""Other processes: seen, read, signalled, traced, and those that pretend to be part of the sandbox."""

from ..attack import Attack, contained, dead, either, nothing, nothing_or_dead

ATTACKS = [
    Attack("processes are listed", """
try:
    for pid in os.listdir("/proc"):
        if pid.isdigit():
            look(f"/proc/{pid}/cmdline")
            look(f"/proc/{pid}/environ")
except OSError:
    pass
""", control=True),
    Attack("ps", """
for words in (["ps", "axeww"], ["pgrep", "-fa", "canary"], ["top", "-bn1", "-c"]):
    try:
        leaks(words[0], subprocess.run(words, capture_output=True, timeout=5).stdout)
    except FAILURES:
        pass
""", control=True),
    Attack("processes of the host are signalled", """
for pid in (*HOST["pids"], HOST["gateway"]):
    for number in (0, signal.SIGCONT):
        attempt(f"kill({pid}, {number})", os.kill, pid, number)
    attempt(f"group {pid}", os.killpg, pid, 0)
""", control=True),
    Attack("processes of the host are killed", """
for pid in HOST["pids"]:
    try:
        os.kill(pid, signal.SIGKILL)
        os.killpg(os.getpgid(pid), signal.SIGKILL)
    except OSError:
        pass
"""),
    Attack("every process is killed", "survive()\nos.kill(-1, signal.SIGKILL)\ntime.sleep(0.2)", contained),
    Attack("every process is stopped", "survive()\nos.kill(-1, signal.SIGSTOP)", contained, timeout=1),
    Attack("the parent is killed", """
for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGSTOP, signal.SIGSEGV, signal.SIGHUP):
    try:
        os.kill(os.getppid(), number) if os.getppid() > 0 else None
    except OSError:
        pass
time.sleep(0.1)
""", contained, timeout=2),
    Attack("process 1 is killed", """
for number in (*range(1, 32), 34, 64):
    if number not in (signal.SIGCHLD,):
        try:
            os.kill(1, number)
        except OSError:
            pass
""", contained, timeout=2),
    Attack("the group is killed", "os.killpg(0, signal.SIGTERM)\nos.killpg(0, signal.SIGKILL)", contained, timeout=2),
    Attack("signals by other calls", """
for pid in (*HOST["pids"], HOST["gateway"]):
    for name, words in (("kill", (pid, 0)), ("tkill", (pid, 0)), ("tgkill", (pid, pid, 0))):
        got, wrong = syscall(name, *words)
        if got == 0:
            reached.append(f"{name} {pid}")
    fd, wrong = syscall("pidfd_open", pid, 0)
    if fd >= 0:
        reached.append(f"pidfd of {pid}")
        syscall("pidfd_send_signal", fd, 0, 0, 0)
""", nothing_or_dead, control=True),
    Attack("files that signal (F_SETOWN)", """
import fcntl
read, write = socket.socketpair()
for pid in HOST["pids"]:
    try:
        fcntl.fcntl(read, fcntl.F_SETOWN, pid)
        fcntl.fcntl(read, 10, signal.SIGKILL)
        fcntl.fcntl(read, fcntl.F_SETFL, os.O_ASYNC)
        write.send(b"x")
    except OSError:
        pass
time.sleep(0.05)
"""),
    Attack("ptrace", """
for pid in {1, os.getppid(), *HOST["pids"], HOST["gateway"]} - {0, os.getpid()}:
    for request in (16, 0x4206):
        got, wrong = syscall("ptrace", request, pid, 0, 0)
        if got == 0:
            reached.append(f"ptrace {request} of {pid}")
            syscall("ptrace", 17, pid, 0, 0)
""", nothing_or_dead),
    Attack("ptrace of a child", """
pid = forked(lambda: time.sleep(5))
if pid:
    got, wrong = syscall("ptrace", 16, pid, 0, 0)
    if got == 0:
        reached.append("traced")
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
got, wrong = syscall("ptrace", 0, 0, 0, 0)
if got == 0:
    reached.append("traced by the parent")
""", nothing_or_dead, control=True),
    Attack("memory of other processes is read", """
class Piece(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]
room = ctypes.create_string_buffer(64)
mine, other = Piece(ctypes.addressof(room), 64), Piece(id(sys), 64)
for pid in {1, os.getppid(), *HOST["pids"], HOST["gateway"]} - {0, os.getpid()}:
    for name in ("process_vm_readv", "process_vm_writev"):
        got, wrong = syscall(name, pid, ctypes.addressof(mine), 1, ctypes.addressof(other), 1, 0)
        if got >= 0 or wrong == errno.EFAULT:
            reached.append(f"{name} of {pid}: {got} {wrong}")
""", nothing_or_dead, control=True),
    Attack("memory of other processes by proc", """
for pid in {1, os.getppid(), *HOST["pids"], HOST["gateway"]} - {0, os.getpid()}:
    for name, mode in (("mem", "r+b"), ("mem", "rb"), ("maps", "rb"), ("auxv", "rb"), ("syscall", "rb"), ("stack", "rb")):
        try:
            with open(f"/proc/{pid}/{name}", mode) as file:
                if name == "mem":
                    reached.append(f"opened {pid}/{name} {mode}")
                elif file.read(10):
                    reached.append(f"read {pid}/{name}")
        except OSError:
            pass
""", control=True),
    Attack("a limit of another process", """
import resource
for pid in {1, os.getppid(), *HOST["pids"], HOST["gateway"]} - {0, os.getpid()}:
    attempt(f"limit of {pid}", resource.prlimit, pid, resource.RLIMIT_NOFILE, (16, 16)) if pid in HOST["pids"] else None
    attempt(f"affinity of {pid}", os.sched_setaffinity, pid, {0}) if pid in HOST["pids"] else None
    attempt(f"priority of {pid}", os.setpriority, os.PRIO_PROCESS, pid, 19) if pid in HOST["pids"] else None
for user in (0, 1000, 65534):
    pass
""", control=True),
    Attack("memory is compared (kcmp)", """
for pid in (1, os.getppid(), HOST["gateway"]):
    got, wrong = syscall("kcmp", os.getpid(), pid, 1, 0, 0)
    if got >= 0 and pid not in (0, os.getpid()):
        reached.append(f"kcmp {pid}")
""", nothing_or_dead, control=True),
    Attack("the score of being killed for memory", """
for pid in ("1", str(os.getppid())):
    if pid != str(os.getpid()):
        try:
            with open(f"/proc/{pid}/oom_score_adj", "w") as file:
                file.write("1000")
            reached.append("changed that of " + pid)
        except OSError:
            pass
try:
    with open("/proc/self/oom_score_adj", "w") as file:
        file.write("-1000")
    reached.append("cannot be killed")
except OSError:
    pass
"""),
    Attack("a session of its own", """
survive()
pid = forked(os.setsid, lambda: time.sleep(60))
result = reached
"""),
    Attack("children that outlive the program", """
survive()
for n in range(5):
    forked(os.setsid, lambda: forked(os.setsid, lambda: signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65)), lambda: time.sleep(60)))
"""),
    Attack("a daemon of subprocess", """
survive()
try:
    subprocess.Popen(["sleep", HOST["nap"]], start_new_session=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
except FAILURES:
    pass
for words in (["nohup", "sh", "-c", f"sleep {HOST['nap']} &"], ["setsid", "sleep", HOST["nap"]]):
    try:
        subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    except FAILURES:
        pass
"""),
    Attack("a child that takes the parent's place", """
survive()
if forked(os.setsid, lambda: time.sleep(60)):
    os._exit(0)
""", contained, timeout=2),
    Attack("threads that outlive the program", """
survive()
def work():
    while True:
        time.sleep(0.01)
for n in range(5):
    threading.Thread(target=work, daemon=n % 2 == 0).start()
""", either(nothing, dead), timeout=2),
    Attack("children that hold the output open", """
survive()
for n in range(3):
    forked(lambda: time.sleep(60))
print("done")
""", timeout=3),
    Attack("the terminal", """
import fcntl
for fd in (0, 1, 2):
    for char in b"echo escaped\\n":
        try:
            fcntl.ioctl(fd, 0x5412, bytes([char]))
            reached.append(f"typed into {fd}")
            break
        except OSError:
            pass
attempt("/dev/tty", os.open, "/dev/tty", os.O_RDWR)
attempt("/dev/console", os.open, "/dev/console", os.O_RDWR)
"""),
    Attack("pseudo-terminals, of which a machine has few", "attempt('/dev/ptmx', os.open, '/dev/ptmx', os.O_RDWR | os.O_NOCTTY)", control=True),
]  # fmt: skip
