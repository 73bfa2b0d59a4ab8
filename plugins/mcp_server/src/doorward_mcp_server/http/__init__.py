"""MCP over HTTP: address, connections, requests and sessions, and their bounds; never what a message means, nor which
token is good."""
