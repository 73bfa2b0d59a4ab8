"""Functions, their JSON Schemas and the results of calls, as text that an agent reads.

Never text that the host runs.
"""
