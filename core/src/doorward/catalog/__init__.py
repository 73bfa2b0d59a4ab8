"""The stored functions of all servers, and what was learnt of their results.

Never how a source makes or calls them.
"""
