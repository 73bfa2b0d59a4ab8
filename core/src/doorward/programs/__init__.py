"""The text of programs as data: parameters, awaited calls, where the value is.

Never how a program runs.
"""
