"""What a principal finds: functions that fit a question, and those that belong to one.

Never a function that the principal may not call; nor how a search engine ranks.
"""
