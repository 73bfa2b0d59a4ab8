"""The store of a gateway: the one that the configuration names, and one in memory where no engine is installed.

Never what anybody stores in it.
"""
