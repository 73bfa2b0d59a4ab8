"""Conformance classes: the tests that every plugin of a kind passes. A test class inherits the one of its kind, and
says what is under test.

Never tests of one plugin. A failure says to the author of the plugin what is wrong and what to do.
"""
