"""Commands that write the configuration and its `.env`, or check them.

Never what only reads what was compiled, or runs it: that is in `cli`.
"""
