"""Commands that write the configuration and its `.env`.

Never a command that only reads them.
"""
