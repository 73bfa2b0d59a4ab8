"""The interpreter: programs that get round a reading of their source. They pass the guard `ast`, or may: nothing is to be had behind it."""

from ..attack import Attack, contained, dead, either, failed, nothing

_BYPASSES = {
    "sys by dataclasses": """
import dataclasses
os_ = dataclasses.sys.modules.get("os") or dataclasses.sys.modules["builtins"]
result = [v for v in getattr(os_, "env" + "iron", {}).values() if v.startswith("canary-")]
""",
    "codecs and bz2": """
import codecs, bz2
result = []
for path in HOST["canaries"]:
    for do in (codecs.open, bz2.open):
        try:
            result.append(str(do(path).read()))
        except Exception:
            pass
""",
    "format strings": """
class C: pass
found = "{0.__class__.__init__.__globals__}".format(C()) if hasattr(C.__init__, "__globals__") else "{0.__class__.__mro__}".format(C())
import re
result = re.findall("canary-[0-9a-f]{16}", found)
""",
    "pieces of names": """
result = []
for base in getattr(getattr((), "__cl" + "ass__"), "__ba" + "se__").__subclasses__():
    try:
        names = getattr(getattr(base, "__in" + "it__"), "__glob" + "als__")
        if "sys" in names:
            env = names["sys"].modules["os"].environ
            result = [v for v in env.values() if "canary-" in v]
            break
    except Exception:
        pass
""",
    "attrgetter": """
import operator
try:
    loader = operator.attrgetter("__globals__")(operator.attrgetter("__init__")(type(__import__("os")._wrap_close)))
except Exception:
    import os
    loader = vars(os)
result = [v for v in loader.get("environ", {}).values() if "canary-" in v]
""",
    "asyncio's processes": """
import asyncio
result = []
try:
    process = await asyncio.create_subprocess_shell("env; cat " + HOST["canaries"][0], stdout=-1, stderr=-1)
    out, _ = await asyncio.wait_for(process.communicate(), 5)
    import re
    result = re.findall("canary-[0-9a-f]{16}", out.decode())
except Exception:
    pass
""",
    "ssl and http": """
import ssl
result = []
try:
    result.append(str(ssl.get_server_certificate(("127.0.0.1", HOST["ports"]["tcp"]), timeout=0.3)))
except Exception:
    pass
""",
    "runpy": """
import runpy
result = []
for path in HOST["canaries"]:
    try:
        runpy.run_path(path)
        result.append(path)
    except (OSError, ImportError):
        pass
    except Exception as error:
        result.append(path + ": " + type(error).__name__)
""",
    "sqlite3 and zipfile": """
import sqlite3, zipfile
result = []
for path in HOST["canaries"]:
    try:
        db = sqlite3.connect("file:" + path + "?mode=ro", uri=True)
        db.execute("select * from sqlite_master").fetchall()
        result.append("read " + path)
    except sqlite3.OperationalError:
        pass
    except sqlite3.DatabaseError:
        result.append("read " + path)
    try:
        zipfile.ZipFile(path)
    except zipfile.BadZipFile:
        result.append("zip " + path)
    except OSError:
        pass
try:
    sqlite3.connect("file:" + HOST["drop"] + "/escaped.db?mode=rwc", uri=True).execute("create table x (y)")
except sqlite3.Error:
    pass
""",
    "_posixsubprocess": """
import os, re, subprocess
result = []
try:
    result = re.findall("canary-[0-9a-f]{16}", subprocess.check_output(["cat", *HOST["canaries"]], stderr=-3).decode())
except Exception:
    pass
""",
    "eval of encoded text": """
import base64, re
code = base64.b64decode(b"W29wZW4ocCkucmVhZCgpIGZvciBwIGluIEhPU1RbImNhbmFyaWVzIl1d").decode()
try:
    result = eval(code)
except OSError:
    result = []
""",
    "frames of the interpreter": """
import re, sys
result = []
try:
    frame = sys._getframe()
    while frame:
        result += re.findall("canary-[0-9a-f]{16}", str(list(frame.f_locals.values())) + str(list(frame.f_globals.values())))
        frame = frame.f_back
except Exception:
    pass
""",
    "generators and tracebacks": """
import re, sys
def g():
    yield 1
result = []
try:
    frame = g().gi_frame.f_back or sys._getframe()
    1 / 0
except ZeroDivisionError as error:
    frame = error.__traceback__.tb_frame
    while frame:
        result += re.findall("canary-[0-9a-f]{16}", str(frame.f_globals))
        frame = frame.f_back
except Exception:
    pass
""",
    "made code": """
import re, types
def f(): pass
result = []
try:
    f.__code__ = compile("import os; RESULT.extend(v for v in os.environ.values() if 'canary-' in v)", "x", "exec")
    types.FunctionType(f.__code__, {"RESULT": result, "__builtins__": __builtins__})()
except Exception:
    pass
""",
    "a codec that is code": """
import codecs, os
def search(name):
    return codecs.CodecInfo(lambda text, errors="strict": (b"", 0), lambda data, errors="strict": ("".join(os.environ.values()), len(data))) if name == "dw_escape" else None
codecs.register(search)
import re
result = re.findall("canary-[0-9a-f]{16}", b"x".decode("dw_escape"))
""",
    "names of other alphabets": """
import os
result = [v for v in os.ｅｎｖｉｒｏｎ.values() if "canary-" in v]
""",
    "importlib": """
import importlib
result = [v for v in importlib.import_module("o" + "s").environ.values() if "canary-" in v]
for path in HOST["canaries"]:
    try:
        result.append(str(importlib.machinery.SourceFileLoader("x", path).get_data(path)))
    except Exception:
        pass
""",
}

_NO_WAY = {"format strings", "asyncio's processes", "frames of the interpreter", "generators and tracebacks"}
"""What finds nothing in a bare Python either, or runs in no plain script."""

GUARDED = [
    Attack(f"round the guard: {name}", code, nothing, plain=True, control=name not in _NO_WAY)
    for name, code in _BYPASSES.items()
]
"""They run with the guard on. Names and modules are written so that it lets many of them pass."""

ATTACKS = [
    Attack("the tree of the program", "raise SystemExit if False else KeyError(chr(0))", failed(), plain=True),
    Attack("the names of the runner", """
import re
found = {name: value for name, value in globals().items() if name.startswith("__doorward")}
for name, value in found.items():
    leaks(name, repr(value))
for name in found:
    globals()[name] = None
del globals()["__builtins__"]
""", either(nothing, failed(), dead)),
    Attack("a literal for the parser", "x = " + "(" * 150 + "1" + ")" * 150 + "\nresult = []", either(nothing, failed()), plain=True),
    Attack("a null in the source", "x = '\\0'\nresult = []\n# \x00", either(nothing, failed(), lambda o: "" if not o.ok else "it ran"), plain=True),
    Attack("a declared encoding", "# -*- coding: utf-7 -*-\nresult = []", either(nothing, failed()), plain=True),
    Attack("a parameter that is a name of Python", "__builtins__ = 1\n__name__ = 'x'\n__doorward_value__ = 7\nresult = []", contained, plain=True),
    Attack("lines that deceive", "result = []\n# \u202e\u2066 if admin\n\x0cresult = []", either(nothing, failed()), plain=True),
    Attack("unwinding by the collector", """
import gc
gc.disable()
gc.callbacks.append(lambda *a: os._exit(5))
gc.collect()
""", either(dead, nothing)),
    Attack("an audit hook", """
sys.addaudithook(lambda event, args: (_ for _ in ()).throw(SystemExit("audited")) if event.startswith("socket") else None)
result = []
""", contained),
    Attack("sub-interpreters", """
try:
    import _xxsubinterpreters as interpreters
except ImportError:
    try:
        import _interpreters as interpreters
    except ImportError:
        interpreters = None
if interpreters:
    try:
        number = interpreters.create()
        interpreters.run_string(number, "import os; os.environ['X'] = 'y'")
        for path in HOST["canaries"]:
            interpreters.run_string(number, f"open({path!r}).read()")
            reached.append(path)
    except Exception:
        pass
""", either(nothing, dead)),
]  # fmt: skip
