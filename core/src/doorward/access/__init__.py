"""Principals, what they may do, and how much of it.

Never how it is done.
"""
