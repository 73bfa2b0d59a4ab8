"""The auth type `oauth2`."""
