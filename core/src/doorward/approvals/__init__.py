"""What a call needs of a person: a yes, asked for, stored, bound to exactly this call, and used once; or a login.

Never which calls need a yes: that is policy; nor a call itself.
"""
