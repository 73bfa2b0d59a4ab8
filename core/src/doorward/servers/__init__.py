"""The configured servers at work: compiled, kept up to date, their sources and auths open.

Never a single call.
"""
