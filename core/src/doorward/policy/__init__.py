"""What is decided of calls: by rules of the operator and of a distribution, and by plugins.

Never whose functions a principal may call at all, which is `access`; nor how a person is asked.
"""
