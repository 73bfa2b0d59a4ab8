"""What a document says about credentials, as suggestions for `auth`.

Never a credential.
"""
