"""Doorward's MCP server: tools, prompts, resources, transports, and who comes in over HTTP. Importing this package costs nothing."""
