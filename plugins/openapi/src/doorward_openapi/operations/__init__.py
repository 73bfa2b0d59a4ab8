"""Each operation of a document as a function, or the reason why it cannot be one.

Never an HTTP request.
"""
