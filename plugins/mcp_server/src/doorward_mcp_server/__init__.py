"""Doorward's MCP server: what clients see of a gateway, and how it reaches them. What a call or a run does is the
gateway's job, never this package's.

Importing this package costs nothing.
"""
