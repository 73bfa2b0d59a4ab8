"""The auth type `keycloak`: `oauth2` for a Keycloak realm, given by the server's URL and the realm's name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doorward_auth_oauth2 import OAuth2

from doorward_auth_keycloak.settings import KeycloakSettings

if TYPE_CHECKING:
    from doorward import PluginContext

PLUGIN_API = 1


class Keycloak(OAuth2):
    """Tokens of a realm, whose endpoints are discovered, or where every realm has them."""

    Settings = KeycloakSettings

    def __init__(self, context: PluginContext[KeycloakSettings]) -> None:
        super().__init__(context.with_settings(context.settings.oauth2))
