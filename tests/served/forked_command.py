"""The command line of `forked.py`: hands its arguments, folder, environment and standard streams to `forked_server.py`,
passes signals on to the process that is forked there, and ends as that ends. If it is killed, so is that.

It imports what is built into Python: the rest of the standard library would take three times as long as all it does.
"""

import _signal as signal
import _socket as socket
import marshal
import posix
import sys

link = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
link.connect(sys.argv[1])
asked = marshal.dumps({"words": sys.argv[2:], "environ": posix.environ, "folder": posix.getcwd()})
streams = b"".join(stream.to_bytes(4, sys.byteorder) for stream in range(3))
link.sendmsg([len(asked).to_bytes(8, "big")], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, streams)])
link.sendall(asked)


def answer() -> int:
    line = b""
    while not line.endswith(b"\n"):
        got = link.recv(1)
        if not got:
            raise EOFError("the process that forks is gone")
        line += got
    return int(line)


forked = answer()
for number in (signal.SIGTERM, signal.SIGINT):
    signal.signal(number, lambda number, _: posix.kill(forked, number))
null = posix.open("/dev/null", posix.O_RDWR)
for stream in range(3):  # the other ends are to see when the process closes them
    posix.dup2(null, stream)
code = answer()
if code < 0:
    if -code != signal.SIGKILL:
        signal.signal(-code, signal.SIG_DFL)
    posix.kill(posix.getpid(), -code)
posix._exit(code)
