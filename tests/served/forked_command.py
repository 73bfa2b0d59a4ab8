"""The command line of `forked.py`: hands its arguments, folder, environment and standard streams to `forked_server.py`,
passes signals on to the process that is forked there, and ends as that ends. If it is killed, so is that."""

import json
import os
import signal
import socket
import sys

with socket.socket(socket.AF_UNIX) as link:
    link.connect(sys.argv[1])
    asked = json.dumps({"words": sys.argv[2:], "environ": dict(os.environ), "folder": os.getcwd()}).encode()
    socket.send_fds(link, [len(asked).to_bytes(8, "big")], [0, 1, 2])
    link.sendall(asked)
    answers = link.makefile("rb")
    forked = int(answers.readline())
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda number, _: os.kill(forked, number))
    null = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):  # the other ends are to see when the process closes them
        os.dup2(null, stream)
    code = int(answers.readline())
if code < 0:
    if -code != signal.SIGKILL:
        signal.signal(-code, signal.SIG_DFL)
    os.kill(os.getpid(), -code)
os._exit(code)
