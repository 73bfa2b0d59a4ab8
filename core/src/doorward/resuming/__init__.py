"""Stored runs that go on, are played again, or are suspended.

Never what is stored of them, nor how a program runs.
"""
