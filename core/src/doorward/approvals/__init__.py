"""A person's yes or no to a call: asked for, stored, bound to exactly this call, and used once.

Never which calls need one: that is policy; nor a call itself.
"""
