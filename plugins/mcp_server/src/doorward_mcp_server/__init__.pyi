# `make reference` writes this file.
from doorward_mcp_server.serve import run_server as run_server
from doorward_mcp_server.server import serving as serving

__all__ = [
    "run_server",
    "serving",
]
