"""Hands a scenario on to the process that listens at a socket, and ends as it says: `python -I forward.py SOCKET URL`."""

import json
import os
import socket
import sys

with socket.socket(socket.AF_UNIX) as other:
    other.connect(sys.argv[1])
    given = {name.partition("MCP_CONFORMANCE_")[2].lower(): value for name, value in os.environ.items() if name.startswith("MCP_CONFORMANCE_")}
    other.sendall(json.dumps({**given, "url": sys.argv[2]}).encode())
    other.shutdown(socket.SHUT_WR)
    with other.makefile() as said:
        *lines, code = said.read().splitlines()
print(*lines, sep="\n")
sys.exit(int(code))
