"""Commands that write the configuration and its `.env`.

Never what is only read.
"""
