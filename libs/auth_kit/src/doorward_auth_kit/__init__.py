"""For auth plugins: what credentials that are fetched need, whatever the protocol by which they are got.

`CredentialHome` keeps credentials with their server. `Renewal` has one there when a request needs it, `Backoff` keeps a
provider from being asked over and over, and `FetchedAuth` is the `httpx2.Auth` of the two. `exchange` sends a request
of a login. `Vault.of(context)` keeps what may be kept, under the name that `entry` gives it.
"""

from __future__ import annotations

from doorward import is_loopback

from doorward_auth_kit.credential_home import CredentialHome, parsed, place
from doorward_auth_kit.exchange import EXCHANGE_SECONDS, exchange
from doorward_auth_kit.fetched_auth import FetchedAuth
from doorward_auth_kit.renewal import Backoff, Credential, Renewal, due
from doorward_auth_kit.vault import Vault, entry

__all__ = [
    "EXCHANGE_SECONDS",
    "Backoff",
    "Credential",
    "CredentialHome",
    "FetchedAuth",
    "Renewal",
    "Vault",
    "due",
    "entry",
    "exchange",
    "is_loopback",
    "parsed",
    "place",
]
