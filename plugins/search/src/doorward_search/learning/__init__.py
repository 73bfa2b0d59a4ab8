"""What searches and runs teach: the functions that words led to, those that go together, and whose values go where.

Never a value, nor a word of a question that is no word of the catalog.
"""
