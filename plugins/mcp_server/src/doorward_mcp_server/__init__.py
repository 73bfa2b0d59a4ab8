"""Doorward's MCP server: what clients see of a gateway and how it reaches them; never what a call or a run does, which
is the gateway's.

Importing this package costs nothing.
"""
