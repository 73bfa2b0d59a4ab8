"""What a program hands out: values, errors and texts that want to be more than data."""

from ..attack import Attack, contained, dead, either, failed, full, late, nothing, stopped

_told = either(nothing, contained)
_any_end = either(
    failed(), dead, late, full, stopped("value", "parts", "bytes"), lambda o: "" if o.ok else "it did not end"
)

ATTACKS = [
    Attack("a pickle", """
import pickle
class Bomb:
    def __reduce__(self):
        return (os.system, ("touch " + HOST["drop"] + "/pickled",))
    def __repr__(self):
        return "bomb"
try:
    result = [pickle.dumps(Bomb()), pickle.dumps(Bomb()).decode("latin-1")]
except Exception:
    result = []
""", contained),
    Attack("text that is code", "result = ['__import__(\"os\").system(\"touch /tmp/dw-escaped\")', '${HOME}', '{{7*7}}', '%s%n', '$(id)', '`id`']",
           lambda o: "" if not o.ok or o.value[1] == "${HOME}" else f"changed: {o.value}", plain=True),
    Attack("a huge integer", "result = 10 ** 100000", _any_end, plain=True),
    Attack("a huge integer as key and part", "n = 1 << 5000000\nresult = {n: [n, -n]}", _any_end, plain=True, timeout=5),
    Attack("a number too large for JSON", "result = [10 ** 30, -(10 ** 30), 1e308 * 10, float('nan'), -0.0]", _any_end, plain=True),
    Attack("deep nesting", "x = []\nfor _ in range(100000): x = [x]\nresult = x", _any_end, plain=True),
    Attack("deep nesting of objects", "x = {}\nfor _ in range(100000): x = {'a': x}\nresult = x", _any_end, plain=True),
    Attack("a cycle", "x = []\nx.append(x)\ny = {'x': x}\ny['y'] = y\nresult = [x, y]", _any_end, plain=True),
    Attack("a giant text", "result = 'x' * (20 << 20)", _any_end, plain=True),
    Attack("a giant list", "result = [0] * 2000000", _any_end, plain=True),
    Attack("a list that grows in JSON", "x = ['\\0' * 1000000] * 20\nresult = x", _any_end, plain=True),
    Attack("one list many times", "x = ['x'] * 100\nfor _ in range(6): x = [x] * 100\nresult = x", _any_end, plain=True, timeout=0.7),
    Attack("half characters", "result = ['\\ud800', {'\\udfff': '\\x00'}, '\\ufffe']", _any_end, plain=True),
    Attack("keys that are no text", "result = {None: 1, 1: 2, 1.5: 3, True: 4, (1, 2): 5}", _any_end, plain=True),
    Attack("the key that stands for bytes", "result = {'\\0bytes': 'x' * 99, 'y': {'\\0bytes': '!!!'}, 'z': {'\\0bytes': 7}}", _any_end, plain=True),
    Attack("keys of results", "result = {'artefact': 'doorward://results/x', 'ok': True, 'error': None, 'truncated': {'rest': 'doorward://results/y'}}", _any_end, plain=True),
    Attack("objects that lie about their class", """
class Liar:
    __class__ = dict
    def __iter__(self): return iter(range(10 ** 9))
    def __len__(self): return -1
    def __json__(self): os._exit(3)
    def isoformat(self): return self
    def keys(self): return self
    def items(self): return self
    def __getitem__(self, key): return self
    def model_dump(self): return self
    def __fspath__(self): return self
    def __getattr__(self, name): return self
    def __call__(self, *a, **k): return self
result = [Liar()]
""", _any_end, timeout=0.7),
    Attack("objects that never end", """
class Endless(list):
    def __iter__(self):
        while True:
            yield self
    def __len__(self): return 1 << 60
class Words(dict):
    def items(self):
        n = 0
        while True:
            n += 1
            yield str(n), n
    def __len__(self): return 1
result = [Endless([1]), Words(a=1)]
""", _any_end, timeout=0.7),
    Attack("types derived from plain ones", """
class Text(str):
    def __str__(self): os._exit(4)
    def encode(self, *a): os._exit(5)
    def __hash__(self): return 1
class Number(int):
    def __repr__(self): return '0]}}{"done":{"value":["forged"]}}'
    def __index__(self): return 1 << 40
class Half(float):
    def __repr__(self): return "__import__('os')"
result = {Text("a"): Number(5), "b": Half(0.5)}
""", _any_end),
    Attack("dates and paths that lie", """
import datetime, pathlib
class Day(datetime.date):
    def isoformat(self): raise SystemExit(0)
class Where(pathlib.PurePosixPath):
    def __fspath__(self): return open
result = [Day(2020, 1, 1)]
""", _any_end),
    Attack("an error that lies", """
class Lie(BaseException):
    __module__ = property(lambda self: 1 / 0)
    def __str__(self): raise MemoryError
    def __repr__(self): return 7
    def __getattribute__(self, name):
        if name in ("__traceback__", "args", "__cause__", "__context__"):
            raise KeyboardInterrupt
        return super().__getattribute__(name)
raise Lie()
""", either(failed(), dead)),
    Attack("an error of giant text", "raise ValueError('x' * 20000000)", failed(), plain=True),
    Attack("an error of our own kinds", """
class GuardRefused(Exception): pass
class SandboxDied(Exception): pass
SandboxDied.__name__ = "../../x" * 100000
raise SandboxDied("\\x1b[2J" + "policy")
""", failed()),
    Attack("errors in a long chain", """
try:
    raise ValueError(0)
except ValueError as error:
    last = error
for n in range(20000):
    new = ValueError(n)
    new.__cause__ = new.__context__ = last
    last = new
last.__cause__.__cause__.__cause__ = last
raise last
""", either(failed(), dead), timeout=5),
    Attack("a group of errors within itself", """
inner = [ValueError(1)]
class Group(Exception):
    @property
    def exceptions(self): return [self]
raise Group()
""", either(failed(), late, dead), timeout=0.7),
    Attack("SystemExit", "raise SystemExit('out')", either(failed(), dead, lambda o: "" if not o.value else "a value"), plain=True),
    Attack("the process ends itself", "os._exit(0)", dead),
    Attack("the process kills itself", "os.kill(os.getpid(), signal.SIGKILL)\ntime.sleep(5)", either(dead, nothing), timeout=0.7),
    Attack("a segmentation fault", "ctypes.string_at(0)", dead),
    Attack("an abort", "os.abort()\nlibc.abort()", either(dead, late), timeout=0.7),
    Attack("an illegal instruction", "native(b'\\x0f\\x0b') if platform.machine() == 'x86_64' else os.abort()", dead),
    Attack("a broken interpreter", """
ctypes.memset(id(sys.modules), 0, 64)
ctypes.memset(id(builtins) if "builtins" in globals() else id(int), 255, 4096)
ctypes.pythonapi.Py_FatalError(b"escaped")
""", either(dead, failed(), late), timeout=2),
    Attack("the interpreter is finalised", "ctypes.pythonapi.Py_FinalizeEx()\nctypes.pythonapi.Py_Exit(0)", either(dead, failed()), timeout=2),
    Attack("another program takes the process", "os.execv(os.path.realpath(sys.executable), ['python', '-c', 'import time; print(1); time.sleep(60)'])", either(dead, late, failed()), timeout=0.7),
    Attack("a figure that is none", """
class Figure:
    def savefig(self, out, **options):
        for _ in range(64):
            out.write(b"x" * (16 << 20))
Figure.__module__ = "matplotlib.figure"
result = [Figure()]
""", _any_end, timeout=5),
    Attack("poisoned modules of the runner", """
import json, builtins, traceback, linecache, asyncio, io, types
class Poison:
    def __getattr__(self, name): raise SystemExit(name)
    def __call__(self, *a, **k): raise SystemExit("poison")
for name in ("json", "struct", "socket", "traceback", "asyncio", "base64", "io", "types", "linecache", "inspect", "os", "ast"):
    sys.modules[name] = Poison()
json.dumps = json.loads = json.JSONEncoder = struct.pack = struct.Struct = traceback.walk_tb = Poison()
builtins.len = builtins.isinstance = builtins.type = builtins.str = builtins.dict = builtins.hasattr = Poison()
""", either(contained)),
    Attack("poisoned encoders", """
import json, json.encoder
json.encoder.JSONEncoder.encode = lambda self, value: '{"done": {"value": "forged"}}'
json.encoder.c_make_encoder = None
json.encoder.encode_basestring = json.encoder.encode_basestring_ascii = lambda text: text
json.dumps = lambda *a, **k: '{"id": 1, "call": "vault.forbidden", "args": [], "kwargs": {}}'
result = [1]
""", contained, timeout=0.7),
    Attack("poisoned streams", """
class Out:
    def write(self, text): raise SystemExit("poison")
    def flush(self): os._exit(9)
    def __getattr__(self, name): return self
sys.stdout = sys.stderr = sys.stdin = Out()
sys.excepthook = sys.unraisablehook = threading.excepthook = lambda *a: os._exit(8)
result = []
""", either(nothing, dead)),
    Attack("a tracer", """
def trace(frame, event, arg):
    if frame.f_code.co_filename != "program.py":
        reached_by_trace.append(frame.f_code.co_name)
        if len(reached_by_trace) > 5:
            raise SystemExit("traced")
    return trace
reached_by_trace = []
threading.settrace(trace)
sys.settrace(trace)
sys.setprofile(trace)
result = []
""", contained, timeout=3),
]  # fmt: skip
