"""What the conformance tests of executors run: text of programs, and what comes of them.

Never what a test asserts beyond that.
"""
