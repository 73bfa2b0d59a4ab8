"""Functions, their JSON Schemas and the results of calls, as text that an agent reads, and the schema that its examples
and all arguments are checked against.

Never text that the host runs.
"""
