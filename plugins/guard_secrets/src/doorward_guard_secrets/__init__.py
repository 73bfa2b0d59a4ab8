"""A guard for values: no program and no argument carries a secret, and results come without personal data where the
operator wants that.

This is no security boundary against a program that means harm, which can write a key backwards. It is against slips:
an agent that read a key somewhere and carries it elsewhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from doorward import Finding, GuardRefused, Settings, hookimpl
from pydantic import ByteSize, Field

from doorward_guard_secrets.values import redacted, texts

if TYPE_CHECKING:
    from doorward import Call, PluginContext, Program

PLUGIN_API = 1

Kind = Literal["email", "card", "phone", "key"]

_INSTEAD = "leave it out: Doorward adds the credentials of servers by itself, and programs need none"


class SecretsSettings(Settings):
    """`[hooks.secrets]`"""

    may_carry: list[str] = Field(
        [], description='Functions whose arguments may hold secrets, as "vault.*": those that store them'
    )
    redact: list[Kind] = Field([], description="What is replaced in results")
    region: str = Field(
        "",
        pattern="^([A-Z]{2})?$",
        description='Where phone numbers without a country code are from ("DE"); not given: they do not count',
    )
    max_bytes: ByteSize = Field(
        ByteSize(2**20), description="Results with more text are refused while `redact` names anything"
    )


class SecretsGuard:
    """The hook plugin of the guard."""

    Settings = SecretsSettings

    def __init__(self, context: PluginContext[SecretsSettings]) -> None:
        self._settings = context.settings

    @hookimpl
    def guard_program(self, program: Program) -> list[Finding]:
        """Refuse a program that carries a secret, in its code or its parameters."""
        from doorward_guard_secrets.keys import found

        for start, _, kind in found(program.code):
            line = program.code.count("\n", 0, start) + 1
            return [Finding(f"the program holds what looks like {kind}", line, _INSTEAD)]
        for text in texts(program.params):
            for _, _, kind in found(text):
                return [Finding(f"the parameters hold what looks like {kind}", instead=_INSTEAD)]
        return []

    @hookimpl
    def guard_call(self, call: Call) -> str | None:
        """Refuse a call whose arguments carry a secret."""
        from doorward_guard_secrets.keys import found

        if self._may_carry(call.function.qualified):
            return None
        for text in texts(call.arguments):
            for _, _, kind in found(text):
                return (
                    f"the arguments hold what looks like {kind}: {_INSTEAD}. The operator can name the function in "
                    "`may_carry` of [hooks.secrets]"
                )
        return None

    @hookimpl
    def change_result(self, call: Call, result: Any) -> Any | None:
        """Replace what `redact` names, in a result and in what an error of the server says."""
        settings = self._settings
        if not settings.redact:
            return None
        from doorward_guard_secrets.personal import Redaction

        if isinstance(result, Exception):
            value: Any = {name: found for name in ("message", "hint", "body") if (found := getattr(result, name, None))}
        else:
            value = result
        size = 0
        for text in texts(value):
            size += len(text)
            if size > settings.max_bytes:
                raise GuardRefused(
                    f"{call.function.qualified}: the answer is too large to look for what must be redacted",
                    hint="Ask for less: pages, filters, fields.",
                )
        clean = redacted(value, Redaction(settings.redact, settings.region or None))
        if clean is value:
            return None
        if not isinstance(result, Exception):
            return clean
        for name, part in clean.items():
            setattr(result, name, part)
        return result

    def _may_carry(self, function: str) -> bool:
        from fnmatch import fnmatchcase

        return any(fnmatchcase(function, pattern) for pattern in self._settings.may_carry)
