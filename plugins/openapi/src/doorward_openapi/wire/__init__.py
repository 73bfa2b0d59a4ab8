"""How values and media types are written in requests and answers.

Never which operation they belong to.
"""
