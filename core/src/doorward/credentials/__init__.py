"""For auth plugins: what credentials that are fetched need, whatever the protocol by which they are got.

`Home` keeps credentials with their server. `Renewal` has one there when a request needs it, `Backoff` keeps a provider from being
asked over and over, and `Fetched` is the `httpx2.Auth` of the two. `exchange` sends a request of a login. `Vault` keeps what may be kept,
under the name that `entry` gives it.
"""

from __future__ import annotations

from doorward.credentials.exchange import PATIENCE, exchange
from doorward.credentials.fetched import Fetched
from doorward.credentials.home import Home, parsed, place
from doorward.credentials.renewal import Backoff, Credential, Renewal, due
from doorward.credentials.vault import Vault, entry
from doorward.host.loopback import is_loopback

__all__ = [
    "PATIENCE",
    "Backoff",
    "Credential",
    "Fetched",
    "Home",
    "Renewal",
    "Vault",
    "due",
    "entry",
    "exchange",
    "is_loopback",
    "parsed",
    "place",
]
