"""The stored functions of all servers: their schemas, what was learnt of their results, who finds them, and how they
look as plain text.

Never how a source makes or calls them; nor a function that the principal may not call.
"""
