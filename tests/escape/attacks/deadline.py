"""The deadline: ways to live beyond it."""

from ..attack import Attack, dead, either, failed, full, late, ran

ATTACKS = [
    Attack("a loop", "while True: pass", late, plain=True, timeout=0.4),
    Attack("a sleep", "import time\ntime.sleep(100)", late, plain=True, timeout=0.4),
    Attack("every error is swallowed", "while True:\n    try:\n        while True: pass\n    except BaseException: pass", late, plain=True, timeout=0.4),
    Attack("an asyncio sleep without end", """
import asyncio
while True:
    try:
        await asyncio.sleep(100)
    except BaseException:
        pass
""", either(late, failed()), plain=True, timeout=0.4),
    Attack("a call that takes long", "import vault\nvault.slow()", late, plain=True, timeout=0.4),
    Attack("signals are blocked and handled", """
survive()
signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
for number in range(1, 65):
    try:
        signal.signal(number, lambda *a: None)
    except FAILURES:
        pass
signal.alarm(1)
while True: pass
""", late, timeout=0.4),
    Attack("threads that are no daemons", """
survive()
def spin():
    while True: pass
for _ in range(4):
    threading.Thread(target=spin).start()
while True: pass
""", late, timeout=0.4),
    Attack("children in sessions of their own", """
survive()
for _ in range(4):
    forked(os.setsid, lambda: signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65)), lambda: forked(lambda: time.sleep(60)), lambda: time.sleep(60))
while True: pass
""", late, timeout=0.4),
    Attack("it stops itself", "survive()\nos.kill(os.getpid(), signal.SIGSTOP)\nwhile True: pass", late, timeout=0.4),
    Attack("vfork that never returns", """
survive()
import ctypes
if platform.machine() == "x86_64":
    pid = native(b"\\x58\\xb8\\x3a\\0\\0\\0\\x0f\\x05\\x50\\xc3")
    if pid == 0:
        while True:
            time.sleep(1)
while True: pass
""", either(late, dead), timeout=0.4),
    Attack("C that holds the lock", """
while True:
    ctypes.PyDLL(None).sleep(100)
""", late, timeout=0.4),
    Attack("a regular expression that never ends", "import re\nre.match(r'(a+)+$', 'a' * 60 + 'b')\nwhile True: pass", late, plain=True, timeout=0.4),
    Attack("a power that never ends", "x = 9 ** 9 ** 9\nwhile True: pass", either(late, full, failed()), plain=True, timeout=0.4),
    Attack("a sum that never ends", "x = sum(range(10 ** 13))\nwhile True: pass", late, plain=True, timeout=0.4),
    Attack("native code that never ends", """
if platform.machine() == "x86_64":
    native(b"\\xeb\\xfe")
while True: pass
""", late, timeout=0.4),
    Attack("it cannot be interrupted at its end", """
class Stays:
    def __del__(self):
        while True: pass
x = Stays()
del x
""", late, timeout=0.4),
    Attack("an object whose text never ends", "class X:\n    def __repr__(self):\n        while True: pass\nresult = [X()]", either(late, failed(), ran), plain=True, timeout=0.4),
    Attack("an error whose text never ends", "class X(Exception):\n    def __str__(self):\n        while True: pass\nraise X()", either(late, failed()), plain=True, timeout=0.4),
    Attack("code that takes long to compile", "exec('x = ' + '-' * 100000 + '1')\nexec('+'.join(['1'] * 200000))\nwhile True: pass", either(late, dead, failed()), plain=True, timeout=2),
]  # fmt: skip
