"""The stored functions of all servers: their schemas, what plugins note about them, who finds them, and how they look
as plain text.

Never how a source makes or calls them; nor a function that the principal may not call.
"""
