"""Asking a model what it would add to the documentation of functions, and taking what is of use.

Never what a function is: its name, its route, its schema and who may call it stay as the document has them.
"""
