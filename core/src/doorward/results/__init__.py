"""The results of calls and runs as text that an agent reads, and the schema of a run's answer.

Never what a function takes.
"""
