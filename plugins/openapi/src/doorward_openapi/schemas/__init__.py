"""Schemas of a document as JSON Schema 2020-12, and the keyword arguments made from them.

Never a whole operation.
"""
