"""Where `${…}` comes from, and what keeps such values out of every output.

Never a login: those belong to auths.
"""
