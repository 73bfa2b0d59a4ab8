"""MCP over HTTP: the address, connections, requests and sessions, and their limits. Never what a message means, nor
which token is valid."""
