"""Where documents come from: a folder or HTTP.

Never what they mean.
"""
