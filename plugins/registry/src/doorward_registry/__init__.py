"""MCP servers by name: what a `server.json` would run, shown before it is written, pinned, and compared later."""
