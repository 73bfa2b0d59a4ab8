"""Sessions with a server over any transport, and their errors. Never what its tools mean."""
