"""JSON Schema and what came of calls as text that an agent reads.

Never text that the host runs.
"""
