"""Who asks, and what is theirs: `[principals]` of the configuration, and the tokens that they bring."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from fnmatch import fnmatchcase

from doorward.config import Loaded
from doorward.secrets import Secrets, Template
from doorward.settings import PrincipalSettings

EVERYONE = "*"
"""The table of those who have none of their own."""
_MOST = 10_000
"""Principals whose last token is kept in mind."""


class Principals:
    """What the configuration says of each principal. Whoever is not in it, and not in `[principals."*"]`, may use all servers."""

    def __init__(self, loaded: Loaded) -> None:
        self._settings: Mapping[str, PrincipalSettings] = loaded.config.principals
        self._secrets = loaded.secrets
        self._presented: OrderedDict[str, str] = OrderedDict()

    def settings(self, principal: str) -> PrincipalSettings:
        """The table of a principal, else that of everyone."""
        return self._settings.get(principal) or self._settings.get(EVERYONE) or PrincipalSettings()

    def may_use(self, principal: str, server: str) -> bool:
        """Whether a server, by its configured name or its module's, is there for a principal."""
        return any(fnmatchcase(server, pattern) or server == pattern.replace("-", "_") for pattern in self.settings(principal).servers)

    def secrets(self, principal: str) -> Secrets:
        """What `${…}` in settings that are for this principal alone may name."""

        def own(key: str) -> Template | str | None:
            if key == "name":
                return principal
            table = self._settings.get(principal)  # never everyone's: a credential that is shared needs no principal
            return table.secrets.get(key) if table else None

        return self._secrets.of(principal, own)

    def present(self, principal: str, token: str) -> None:
        """Keep the token in mind with which a principal has just asked."""
        self._presented[principal] = token
        self._presented.move_to_end(principal)
        while len(self._presented) > _MOST:
            self._presented.popitem(last=False)

    def presented(self, principal: str) -> str | None:
        """The token that a principal brought last."""
        return self._presented.get(principal)
