"""What is sent into a sandbox and runs there: Python 3.9, its standard library, and nothing of the host's."""
