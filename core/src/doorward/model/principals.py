"""Who is asking."""

LOCAL = "local"
"""The principal of all requests that do not come over HTTP: the user who started the process."""
