"""Each operation of a document as a function, or why not.

Never a request.
"""
