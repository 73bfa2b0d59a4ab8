"""The arguments of a call: bound to the parameters of its function, and checked against their schemas.

Never the call itself.
"""
