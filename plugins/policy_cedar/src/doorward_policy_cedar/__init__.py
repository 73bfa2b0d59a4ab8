"""Policies in Cedar decide calls: a hook plugin that tightens what the rules of the operator say."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from doorward import ConfigError, Decision, Settings, hookimpl
from pydantic import Field

from doorward_policy_cedar.policies import Policies
from doorward_policy_cedar.requests import Unjudgeable, of_call

if TYPE_CHECKING:
    from doorward import Call, PluginContext

PLUGIN_API = 1

_MAX_BYTES = 2**20


class CedarSettings(Settings):
    """`[hooks.cedar]`"""

    policies: Path = Field(description="The file with the policies")
    groups: dict[str, list[str]] = Field(
        {},
        description='Principals by the group that they are in, in place of one of [groups]: ops = ["alice"]',
    )


class CedarPolicies:
    """The hook plugin. Raises: ConfigError if the policies cannot be used."""

    Settings = CedarSettings

    def __init__(self, context: PluginContext[CedarSettings]) -> None:
        file, place = context.folder / context.settings.policies.expanduser(), "[hooks.cedar] policies"
        try:
            with file.open("rb") as opened:
                content = opened.read(_MAX_BYTES + 1)
            if len(content) > _MAX_BYTES:
                raise ConfigError(f"{file} has more than {_MAX_BYTES // 2**20} MiB", place=place)
            self._policies = Policies(content.decode())
        except OSError as error:
            hint = "A relative path starts where the configuration lies."
            raise ConfigError(f"{file} cannot be read: {error.strerror}", place=place, hint=hint) from None
        except ValueError as error:
            raise ConfigError(f"{file}: {error}", place=place, hint="`cedar format` shows where.") from None
        self._own = {*context.settings.groups}
        self._groups: dict[str, list[str]] = {}
        for group, members in context.settings.groups.items():
            for member in members:
                self._groups.setdefault(member, []).append(group)

    @hookimpl
    def decide(self, call: Call) -> Decision | None:
        """What the policies decide of a call. One that they cannot judge is denied."""
        try:
            shared = [group for group in call.caller.groups if group not in self._own]
            request, entities = of_call(call, [*self._groups.get(call.principal, []), *shared])
        except Unjudgeable as error:
            return Decision("deny", "cedar", str(error))
        return self._policies.decide(request, entities)
