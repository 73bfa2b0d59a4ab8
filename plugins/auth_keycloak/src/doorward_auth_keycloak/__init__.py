"""The auth type `keycloak`."""

from __future__ import annotations
