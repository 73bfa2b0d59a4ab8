"""`doorward demo`: a small HTTP API of our own, used through the door by an MCP client, step by step."""

PLUGIN_API = 1
