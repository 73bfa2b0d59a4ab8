"""Doorward against real peers: a mock server that validates requests, and applications that ship a document."""
