"""What came of calls and runs, as text for agents and as the schema of the answer.

Never what a function takes, and how it is called.
"""
