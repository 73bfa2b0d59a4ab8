"""The commands `import` and `connect`: what MCP clients have configured."""
