"""What a document says of credentials, as suggestions.

Never a credential.
"""
