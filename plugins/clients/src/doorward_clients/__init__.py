"""The commands `import`, `connect` and `setup`, which read and write the configurations of MCP clients."""
