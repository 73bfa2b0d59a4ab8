"""JSON Schemas of functions, read and checked against; and functions as plain text, where no plugin writes more.

Never text that the host runs.
"""
