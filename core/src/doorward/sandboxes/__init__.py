"""The configured executors, and the sandboxes that they open: for one run, or for a session of runs.

Never what a program in them does.
"""
