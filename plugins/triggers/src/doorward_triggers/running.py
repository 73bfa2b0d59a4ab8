"""Runs the program of a trigger, as any run of its principal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from doorward import ConfigError
from doorward.administration import language_of_file, run_in_thread
from doorward.sandboxing import KEPT_PROGRAMS

if TYPE_CHECKING:
    from pathlib import Path

    from doorward import Gateway, Outcome

    from doorward_triggers.settings import TriggerSettings


async def run(gateway: Gateway, name: str, settings: TriggerSettings, params: Mapping[str, Any]) -> Outcome:
    """Run a trigger's program; what the configuration gives is stronger than `params`. Raises: ConfigError for a script
    that cannot be read."""
    values = {**params, **settings.params}
    if settings.script is None:
        return await gateway.run_cached(settings.program, values, principal=settings.principal)
    file = gateway.loaded.folder / settings.script.expanduser()
    return await gateway.execute(
        await run_in_thread(_read, file, name), params=values, principal=settings.principal,
        description=f"trigger {name}", language=language_of_file(file.name),
    )  # fmt: skip


async def check_program(gateway: Gateway, name: str, settings: TriggerSettings) -> None:
    """Raises: DoorwardError if the program of a trigger is not there."""
    if settings.script is not None:
        _read(gateway.loaded.folder / settings.script.expanduser(), name)
    elif (programs := gateway.services.get(KEPT_PROGRAMS)) is None:
        raise ConfigError("nothing keeps programs", place=f"[triggers.{name}] program", hint="`script` needs nothing.")
    else:
        await programs.get(settings.program, settings.principal)


def _read(file: Path, name: str) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file} cannot be read: {error}", place=f"[triggers.{name}] script") from None
