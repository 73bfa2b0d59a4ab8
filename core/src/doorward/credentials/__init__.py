"""For auth plugins: what credentials that are fetched need, whatever the protocol by which they are got.

`Home` keeps credentials with their server. `Renewal` has one there when a request needs it, `Backoff` keeps a provider from being
asked over and over, and `Fetched` is the `httpx2.Auth` of the two. `exchange` sends a request of a login; `Vault` keeps what may be kept.
"""

from __future__ import annotations

from doorward.credentials.exchange import exchange, place
from doorward.credentials.fetched import Fetched
from doorward.credentials.home import Home, is_loopback, parsed
from doorward.credentials.renewal import Backoff, Credential, Renewal
from doorward.credentials.vault import Vault

__all__ = ["Backoff", "Credential", "Fetched", "Home", "Renewal", "Vault", "exchange", "is_loopback", "parsed", "place"]
