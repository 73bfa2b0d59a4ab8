"""The programs of the conformance tests of executors, with their results.

Never a test.
"""
