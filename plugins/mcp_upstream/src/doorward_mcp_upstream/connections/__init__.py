"""Sessions with a server over any transport, and what goes wrong with them.

Never what its tools mean.
"""
