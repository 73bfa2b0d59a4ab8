"""Commands by which an operator follows what runs, and decides.

Never what writes a server into the configuration: that is `configuring`.
"""
