"""Committing plans: a person's yes to the whole, a look whether what was read is still so, and the run that writes.

Never how a program runs, nor what is stored of it.
"""
