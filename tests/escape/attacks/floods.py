"""Limits of files and of output."""

from ..attack import Attack, dead, either, full, late, nothing, stopped

ATTACKS = [
    Attack("a large file", """
for folder in (".", "/tmp", "/dev/shm"):
    try:
        with open(folder + "/large", "wb") as file:
            for n in range(64):
                file.write(b"x" * (8 << 20))
            reached.append(folder)
    except FAILURES:
        pass
""", either(nothing, full, dead, stopped("disk"))),
    Attack("a file with holes", """
try:
    with open("holes", "wb") as file:
        os.truncate("holes", 1 << 40)
        os.posix_fallocate(file.fileno(), 0, 1 << 40)
        reached.append("a TiB")
except FAILURES:
    pass
""", either(nothing, dead)),
    Attack("too many files", """
count = 0
for folder in (".", "/tmp", "/dev/shm"):
    try:
        for n in range(60000):
            os.close(os.open(f"{folder}/{n}", os.O_CREAT | os.O_WRONLY))
            count += 1
    except OSError:
        pass
if count > 50000:
    reached.append(f"{count} files")
""", either(nothing, full, dead, late), timeout=8),
    Attack("too deep a folder", """
depth = 0
try:
    while depth < 60000:
        os.mkdir("d")
        os.chdir("d")
        depth += 1
except OSError:
    pass
if depth > 50000:
    reached.append(f"{depth} folders")
""", either(nothing, full, dead), timeout=8),
    Attack("too many descriptors", """
fds = []
try:
    while len(fds) < 100000:
        fds.append(os.dup(1))
except OSError:
    pass
if len(fds) > 65536:
    reached.append(f"{len(fds)} descriptors")
"""),
    # Output
    Attack("a flood of prints", "while True: print('x' * 100000)", either(stopped("printed", " s"), dead), plain=True, timeout=1),
    Attack("a large print", "print('x' * 20000000)\nresult = []", either(nothing, stopped("printed"), full), plain=True),
    Attack("a flood past Python's streams", "while True: os.write(1, b'x' * 1000000)", either(stopped("printed", " s"), dead), timeout=3),
    Attack("a flood of a child", """
try:
    subprocess.run(["sh", "-c", "yes escaped"], timeout=30)
except FAILURES:
    pass
""", either(stopped("printed", " s"), dead, nothing), timeout=3),
    Attack("a flood on standard error", "while True: os.write(2, b'x' * 1000000)", either(stopped("printed", " s"), dead), timeout=3),
    Attack("output that is no text", "os.write(1, bytes(range(256)) * 100 + b'\\xff\\xfe\\0' * 100)\nprint('\\ud800\\udfff \\x1b]0;x\\x07')"),
    Attack("many small prints", "for n in range(50000): print(n)\nresult = []", either(nothing, stopped("printed", " s")), plain=True, timeout=8),
]  # fmt: skip
