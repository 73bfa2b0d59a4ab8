"""Finding and loading plugins with stevedore, and calling their hooks with pluggy; observers get what happened as
events, in batches, and may take their time.

Never the name of any plugin.
"""
