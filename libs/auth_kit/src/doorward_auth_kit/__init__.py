"""For auth plugins that fetch credentials, by any protocol.

`CredentialHome` knows where credentials may go. `Renewal` fetches one before a request needs it, `Backoff` spares a
provider that fails, and `FetchedAuth` is the `httpx2.Auth` made of these. `exchange` sends one
request of a login. `Vault.of(context)` stores credentials between processes, under the name that `entry` makes,
and `SharedVault.of(context, name)` those of several machines, where they have a store together; `seal` and `unseal` are
for what lies elsewhere.
`verify` tells whether a delivery was signed with a key, and `signed` signs one.
"""

from __future__ import annotations

from doorward.values import is_loopback

from doorward_auth_kit.credential_home import CredentialHome, parsed, place
from doorward_auth_kit.exchange import EXCHANGE_SECONDS, exchange, plain_client
from doorward_auth_kit.fetched_auth import FetchedAuth
from doorward_auth_kit.renewal import Backoff, Credential, Renewal, due
from doorward_auth_kit.shared_vault import SharedVault
from doorward_auth_kit.signatures import MIN_KEY_BYTES, Unsigned, key_of, signed, verify
from doorward_auth_kit.vault import UnreadableEntry, Vault, entry, seal, unseal, unseal_either

__all__ = [
    "EXCHANGE_SECONDS",
    "MIN_KEY_BYTES",
    "Backoff",
    "Credential",
    "CredentialHome",
    "FetchedAuth",
    "Renewal",
    "SharedVault",
    "UnreadableEntry",
    "Unsigned",
    "Vault",
    "due",
    "entry",
    "exchange",
    "is_loopback",
    "key_of",
    "parsed",
    "place",
    "plain_client",
    "seal",
    "signed",
    "unseal",
    "unseal_either",
    "verify",
]
