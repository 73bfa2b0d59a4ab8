"""Bearer tokens of clients over HTTP: how they are made and verified. Never what a principal may do,
nor HTTP itself."""
