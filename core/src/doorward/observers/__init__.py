"""What happened, as events for the configured observers, which get them in batches and may take their time.

Never the path of a run or of a call.
"""
