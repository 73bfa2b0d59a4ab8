"""The secret schemes `keyring` and `cmd`."""

from __future__ import annotations
