"""Where the values of `${…}` come from, and what keeps them out of every output.

Never a login: those belong to auths.
"""
