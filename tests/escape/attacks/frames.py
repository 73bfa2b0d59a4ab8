"""The channel to the host: garbage, halves, floods and forgeries. A program that does so ends only itself."""

from ..attack import Attack, broken_off, contained, dead, either, failed, late, nothing, stopped

_ends = either(dead, late, failed())

_ASK = """
def listen(seconds=0.3):
    "What the host answers, as bytes."
    import select
    data, end = b"", time.monotonic() + seconds
    fds = channels()
    while time.monotonic() < end:
        for fd in select.select(fds, [], [], 0.05)[0]:
            try:
                got = os.read(fd, 65536)
            except OSError:
                got = b""
            if not got:
                fds.remove(fd)
            data += got
    return data
"""

ATTACKS = [
    Attack("garbage", "for n in range(20): send(os.urandom(1000))\ntime.sleep(0.2)", contained, timeout=2),
    Attack("text that is no frame", "send(b'{\"done\": {\"value\": 1}}\\n')\nsend(b'GET / HTTP/1.1\\r\\n\\r\\n')\ntime.sleep(0.2)", contained, timeout=2),
    Attack("a giant length", "send(b'\\xff\\xff\\xff\\xff')\ntime.sleep(0.3)", contained, timeout=2),
    Attack("a giant length that is filled", "send(b'\\x7f\\xff\\xff\\xff')\nfor n in range(300): send(b'x' * 1000000)", contained, timeout=3),
    Attack("half a frame", "send(struct.pack('>I', 1000) + b'{')\nwhile True: time.sleep(1)", _ends, timeout=0.4),
    Attack("half a length", "send(b'\\0')\nwhile True: time.sleep(1)", _ends, timeout=0.4),
    Attack("frames without content", "for n in range(100000): send(b'\\0\\0\\0\\0')", contained, timeout=2),
    *(
        Attack(f"what is no frame: {name}", f"send(frame({value}))\nwhile True: time.sleep(1)", broken_off, timeout=20)
        for name, value in {
            "a number": "1", "nothing": "None", "a list": "[]", "text": "'x'", "lists in lists": "[[[]]]", "yes": "True", "NaN": "b'NaN'",
            "no end": "b'[' * 70000", "no text": "b'\\xff\\xfe'", "two objects": "b'{}' * 10", "deep nesting": "b'{\"done\": {\"value\": ' + b'[' * 50000 + b']' * 50000 + b'}}'",
            "many parts": "b'{\"done\": {\"value\": [' + b'0,' * 6000000 + b'0]}}'", "a giant number": "b'{\"id\": ' + b'9' * 5000 + b', \"members\": \"x\"}'",
            "an infinite number": "b'{\"id\": 1e999, \"call\": \"vault.read\"}'", "Infinity": "b'{\"id\": Infinity, \"members\": \"x\"}'",
            "a number that is none": "b'{\"id\": NaN, \"members\": \"x\"}'", "an end that is no object": {"done": 7}, "an end that is a list": {"done": [1]},
            "a call of nothing": {"id": 1, "call": 7, "args": 1, "kwargs": []}, "a call without number": {"call": "vault.read", "args": [], "kwargs": {}},
            "a number that is text": {"id": "__class__", "call": "vault.read", "args": [], "kwargs": {}}, "messages of a zygote": {"fork": 1, "kill": 1, "to": 1, "gone": 1, "code": 0},
            "a hello": {"hello": {"fresh": True, "python": "x", "problems": {}, "why": ""}}, "another sandbox is gone": {"gone": 1, "code": 0}, "ready again": {"ready": 1},
            "nothing at all": {}, "words for Python": {"__class__": "x", "__reduce__": ["os.system", ["touch /tmp/escaped"]], "py/object": "os.system"},
        }.items()
    ),
    *(
        Attack(f"a forged frame: {name}", f"send(frame({value!r}))\ntime.sleep(0.1)", contained, timeout=2)
        for name, value in {
            "an end of the wrong types": {"done": {"error": {"type": [1], "message": {"a": 1}, "line": "x", "frames": [{"line": "1", "function": [2]}, 3]}}},
            "an end of odd errors": {"done": {"error": 5}},
            "an end of a giant size": {"done": {"bytes": 10**30}},
            "an end of no size": {"done": {"bytes": -1}},
            "an end that is infinite": b'{"done": {"value": 1e999}}',
            "an end of a giant number": b'{"done": {"value": ' + b"9" * 100000 + b"}}",
            "the same key twice": b'{"done": {"value": 1}, "done": {"value": 2}, "id": 1}',
            "a foreign number": {"id": -(2**70), "call": "vault.read", "args": [], "kwargs": {}},
            "a file of the host": {"id": 1, "file": "file:///etc/passwd"},
            "a file by path": {"id": 1, "file": "doorward://results/../../../etc/passwd"},
            "an artefact of odd names": {"artefact": "../../../../tmp/escaped"},
            "a policy of its own": {"id": 1, "call": "vault.forbidden", "args": [], "kwargs": {}, "policy": {"allow": ["*"]}, "principal": "admin"},
        }.items()
    ),
    Attack("an end in odd lines", """
lines = (True, -1, 0, 10 ** 30, 1.5)
send(frame({"done": {"error": {"type": "X", "line": 10 ** 4000, "frames": [{"line": line, "function": "f"} for line in lines]}}}))
time.sleep(1)
""", lambda o: "" if o.error and o.error.type == "X" and o.error.line is None and not o.error.frames else f"told as {o.error}"),
    Attack("arguments of many parts", "send(frame(b'{\"id\": 1, \"call\": \"vault.read\", \"kwargs\": {}, \"args\": [[' + b'[0],' * 1800000 + b'0]]}'), 5)\nwhile True: time.sleep(1)", either(broken_off, stopped("parts")), timeout=20),
    Attack("an error of many parts", "send(frame(b'{\"done\": {\"error\": {\"message\": [' + b'[0],' * 1800000 + b'0]}}}'), 5)\nwhile True: time.sleep(1)", either(broken_off, stopped("parts")), timeout=20),
    Attack("many frames of parts", "data = frame(b'{\"id\": 1, \"call\": \"vault.read\", \"kwargs\": {}, \"args\": [[' + b'[0],' * 100000 + b'0]]}')\nwhile True: send(data)", either(broken_off, stopped("parts")), timeout=20),
    Attack("a forged end, then the real one", "send(frame({'done': {'value': 'forged'}}))\nresult = ['real'] * 0", contained),
    Attack("many ends", "for n in range(1000): send(frame({'done': {'value': n}}))", contained),
    Attack("a call that policy denies", """
import vault
try:
    vault.forbidden()
    result = ["called"]
except (Exception,):
    result = []
""", plain=True),
    Attack("a call that policy denies, by frames", _ASK + """
for n, name in enumerate(("vault.forbidden", "vault.forbidden\\0", " vault.forbidden", "vault..forbidden", "VAULT.forbidden", "vault.Forbidden", "doorward.call", "vault.forbidden.x")):
    send(frame({"id": 1000 + n, "call": name, "args": ["vault.forbidden"] if name == "doorward.call" else [], "kwargs": {}}))
data = listen()
if b'"name":"forbidden"' in data.replace(b" ", b""):
    reached.append("vault.forbidden")
""", either(nothing, dead), timeout=3),
    Attack("a call that policy denies, by help", """
import doorward
result = []
for words in (("vault.forbidden",), ("vault", "forbidden")):
    try:
        result.append(str(doorward.call(*words)))
    except Exception:
        pass
result = [r for r in result if "forbidden" in r and "name" in r]
""", plain=True),
    Attack("names that are no functions", """
import doorward
result = []
for name in ("os.system", "__import__", "vault.__class__", "vault.call", "vault.Settings", "doorward.__init__", "doorward.secrets", "", ".", "vault.", ".read", "a" * 100000, "vault.read\\n"):
    try:
        result.append(str(doorward.call(name)))
    except Exception:
        pass
result = [r for r in result if "name" not in r]
""", plain=True),
    Attack("thousands of calls by frames", """
data = b"".join(frame({"id": n, "call": "vault.read", "args": [], "kwargs": {}}) for n in range(5000))
send(data)
time.sleep(0.3)
""", contained, timeout=2),
    Attack("answers that nobody reads", """
data = b"".join(frame({"id": n, "call": "vault.read", "args": [], "kwargs": {"text": "x" * 1000}}) for n in range(1000))
for n in range(4):
    send(data)
time.sleep(0.5)
""", contained, timeout=3),
    Attack("artefacts without end", """
for n in range(2000):
    send(frame({"artefact": f"x{n}.png"}, b"x" * 100000))
""", contained, timeout=0.7),
    Attack("files in out without end", """
result = []
for n in range(3000):
    with open(f"out/{n}.txt", "w") as file:
        file.write("x" * 10)
""", either(nothing, failed("FileNotFoundError"), contained), timeout=5),
    Attack("files in out that are none", """
import socket
for name, target in (("link", "/etc/passwd"), ("proc", "/proc/self/environ"), ("zero", "/dev/zero"), ("self", "."), ("gateway", HOST["canaries"][0])):
    try:
        os.symlink(target, "out/" + name)
    except OSError:
        pass
try:
    os.mkfifo("out/fifo")
    s = socket.socket(socket.AF_UNIX)
    s.bind("out/socket")
    os.truncate(os.open("out/holes", os.O_CREAT | os.O_WRONLY), 1 << 40)
except OSError:
    pass
""", timeout=5),
    Attack("the folder out is something else", """
import shutil
try:
    shutil.rmtree("out")
    os.symlink("/", "out")
except OSError:
    pass
""", timeout=5),
    Attack("the channel is closed", "for fd in channels(): os.close(fd)\nresult = []", either(_ends, nothing), timeout=2),
    Attack("the channel is shut down", """
for fd in channels():
    try:
        socket.socket(fileno=os.dup(fd)).shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
while True: time.sleep(1)
""", _ends, timeout=0.4),
    Attack("every descriptor is closed", "os.closerange(0, 4096)\nwhile True: pass", _ends, timeout=0.4),
    Attack("the channel is another's", """
a, b = socket.socketpair()
for fd in channels():
    os.dup2(a.fileno(), fd)
""", _ends, timeout=0.4),
    Attack("children use the channel", """
import vault
for n in range(3):
    if os.fork() == 0:
        try:
            send(frame({"id": 1, "call": "vault.read", "args": [], "kwargs": {}}))
            vault.read()
        finally:
            os._exit(0)
for n in range(3):
    os.wait()
""", contained, timeout=3),
    Attack("the channel is found by the collector", """
import gc
found = 0
for thing in gc.get_objects():
    try:
        if isinstance(thing, socket.socket) and thing.fileno() >= 0:
            thing.setblocking(False)
            thing.send(frame({"id": 5, "call": "vault.forbidden", "args": [], "kwargs": {}}))
            found += 1
        elif type(thing).__name__ in ("Channel", "Runner", "Catalog") and hasattr(thing, "send"):
            thing.send({"id": 6, "call": "vault.forbidden", "args": [], "kwargs": {}})
    except (*FAILURES, TypeError):
        pass
time.sleep(0.2)
""", contained, timeout=2),
    Attack("programs for the runner", """
for fd in channels():
    try:
        a = socket.socket(fileno=os.dup(fd))
        a.setblocking(False)
        a.send(frame({"run": {"code": "1", "inputs": {}, "awaited": [], "sets_result": False, "mentioned": {}, "files": [], "most": 1 << 40}}))
    except OSError:
        pass
time.sleep(0.2)
""", contained, timeout=2),
    Attack("questions for others' results", _ASK + """
for n in range(50):
    send(frame({"id": n, "file": f"doorward://results/{n}"}))
send(frame({"id": 77, "call": "doorward.result", "args": ["doorward://results/1"], "kwargs": {}}))
data = listen()
leaks("answers", data)
""", either(nothing, dead), timeout=3),
    Attack("a flood of questions", """
data = b"".join(frame({"id": n, "members": "vault"}) for n in range(5000))
while True:
    send(data)
""", either(dead, late, stopped("calls")), timeout=2),
]  # fmt: skip
