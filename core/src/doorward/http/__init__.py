"""HTTP requests to checked addresses: the engine that sends them, its connections, and what httpx2 needs of it.

Never what a request is for.
"""
