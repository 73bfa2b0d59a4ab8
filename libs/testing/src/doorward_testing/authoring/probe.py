"""Loads one plugin as core does, in a process of its own, and says how that went: `python -m … ANSWER KIND NAME MS`,
with the milliseconds that core itself takes to be imported.

Nothing here may trust the plugin to return: whoever started this reads the answer's file, and has a time limit.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
import traceback
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import anyio
from doorward import ConfigError, Gateway, PluginError, Settings
from doorward.abilities import HasSettings
from doorward.administration import Plugins
from doorward.configuration import Entry, Index, installed

from doorward_testing.authoring.candidate import OWNED
from doorward_testing.authoring.findings import Found, one_line
from doorward_testing.checks import HEAVY_MODULES

DRIVERS = ("source", "auth", "store", "cache", "executor", "observer", "search_view")
"""The kinds whose plugins are classes that core makes objects of."""


def main(answer: str, kind: str, name: str, core_ms: str) -> None:
    """Write what was found, and end at once, whatever threads the plugin has started."""
    found = [asdict(one) for one in _probed(kind, name, float(core_ms))]
    Path(answer).write_text(json.dumps(found), encoding="utf-8")
    sys.stdout.flush()
    os._exit(0)


def _probed(kind: str, name: str, core_ms: float) -> Iterator[Found]:
    check = f"{kind} {name}"
    entries = Index(installed()).named(kind, name)
    if len(entries) != 1:  # said already, by its metadata
        return
    (entry,) = entries
    try:
        yield _imported(check, entry, core_ms)
        thing = entry.point.load()
    except BaseException as error:  # a plugin may do anything, and must not end this
        do = "Fix what the last line says." if _where(error) else f"Is {entry.point.value} what its entry point means?"
        yield Found("wrong", check, f"does not import: {one_line(error)}{_where(error)}", do)
        return
    yield from _api(check, entry, thing)
    try:
        yield from _loaded(check, entry, thing)
    except (PluginError, ConfigError) as error:
        yield Found("wrong", check, str(error), error.hint or "")
    except BaseException as error:
        do = "A constructor does nothing that can fail: what needs files or settings of others comes later."
        yield Found("wrong", check, f"cannot be made: {one_line(error)}{_where(error)}", do)


def _imported(check: str, entry: Entry, core_ms: float) -> Found:
    """How long the import takes, compared with what core has to import anyway, and what heavy modules come with it."""
    before = set(sys.modules)
    begun = time.perf_counter()
    importlib.import_module(entry.point.module)
    ms = (time.perf_counter() - begun) * 1000
    if heavy := sorted(set(HEAVY_MODULES) & set(sys.modules) - before):
        do = "Import them in the functions that use them, and for types below `if TYPE_CHECKING:`."
        return Found("wrong", check, f"importing it imports {', '.join(heavy)} ({ms:.0f} ms)", do)
    said = f"imports in {ms:.0f} ms (core in {core_ms:.0f} ms), nothing heavy"
    if ms > core_ms:
        return Found("to do", check, said, "Import what takes long where it is used: `python -X importtime` shows it.")
    return Found("ok", check, said)


def _api(check: str, entry: Entry, thing: Any) -> Iterator[Found]:
    modules = [sys.modules[entry.point.module], sys.modules.get(getattr(thing, "__module__", ""))]
    if entry.kind not in ("distribution", *OWNED) and not any(
        hasattr(where, "PLUGIN_API") for where in (thing, *modules)
    ):
        do = "Write PLUGIN_API = 1 in its module: where the interface is another one, it is refused and says so."
        yield Found("to do", check, "does not say for which plugin API it was made", do)


def _loaded(check: str, entry: Entry, thing: Any) -> Iterator[Found]:
    """Load it as core does, which raises what is wrong."""
    plugins = Plugins(Index([entry]))
    model = getattr(thing, "Settings", None)
    if isinstance(model, type) and issubclass(model, Settings):
        yield from _settings(check, model)
    if entry.kind in DRIVERS:
        yield from _made(check, entry, plugins.driver(entry.kind, entry.name))
    elif entry.kind == "plugin":
        yield from _hooks(check, entry, thing, plugins)
    elif entry.kind == "command":
        yield from _command(check, plugins.driver("command", entry.name))
    elif entry.kind in OWNED:
        yield _owned(check, thing)
    elif entry.kind == "distribution":
        yield from _distribution(check, entry)


def _owned(check: str, thing: Any) -> Found:
    """Whether a table, or a key of servers, has a type that a configuration can be held against."""
    from pydantic import TypeAdapter

    try:
        TypeAdapter(thing)
    except Exception as error:
        do = "Name a Settings class, a list of such, or another type that pydantic knows."
        return Found("wrong", check, f"is no type for pydantic: {one_line(error)}", do)
    return Found("ok", check, "has a type")


def _settings(check: str, model: type[Settings]) -> Iterator[Found]:
    if bare := [field.alias or name for name, field in model.model_fields.items() if not field.description]:
        do = 'Describe each: Field(description="…"). `doorward schema` and `doorward add` show it.'
        yield Found("to do", check, f"settings without a description: {', '.join(bare)}", do)
    elif model.model_fields:
        yield Found("ok", check, f"settings: {', '.join(f.alias or n for n, f in model.model_fields.items())}")


def _context(entry: Entry, thing: Any) -> Any:
    """What it is made with, of settings that are all left out; `None` if it needs some."""
    from doorward_testing.host import Host

    model = thing.Settings if isinstance(thing, HasSettings) else Settings
    host = Host(Path(mkdtemp()))
    try:
        return (host.server if entry.kind == "source" else host.context)(model, name=entry.name)
    except ConfigError:
        return None


def _made(check: str, entry: Entry, thing: Any) -> Iterator[Found]:
    if (context := _context(entry, thing)) is None:
        yield Found("ok", check, "is complete; it needs settings, so its constructor was not tried")
    else:
        thing(context)
        yield Found("ok", check, "is complete, and can be made")


def _hooks(check: str, entry: Entry, thing: Any, plugins: Plugins) -> Iterator[Found]:
    made = thing
    if isinstance(thing, type):
        context = _context(entry, thing)
        made = object.__new__(thing) if context is None else thing(context)  # its hooks can be seen all the same
    plugins.load_hooks([entry.name], lambda name, loaded: made)
    hooks = sorted(caller.name for caller in plugins.manager.get_hookcallers(made) or ())
    if hooks:
        yield Found("ok", check, f"has the hooks {', '.join(hooks)}")
    else:
        yield Found("wrong", check, "has no hook", "Mark its functions or methods with @doorward.hookimpl.")


def _distribution(check: str, entry: Entry) -> Iterator[Found]:
    """Whether Doorward starts with it, and a configuration that says nothing."""

    async def opened() -> None:
        folder = Path(mkdtemp())
        (folder / "doorward.toml").write_text('state = "state"')
        async with Gateway.open(folder / "doorward.toml", compile=False):
            pass

    anyio.run(opened)
    yield Found("ok", check, "can be read, and Doorward starts with it")


def _command(check: str, command: Any) -> Iterator[Found]:
    import click

    if isinstance(command, click.Command):
        yield Found("ok", check, command.get_short_help_str() or "is a command")
    else:
        do = "Name what @click.command() has made in the entry point."
        yield Found("wrong", check, f"is no click command, but {type(command).__name__}", do)


def _where(error: BaseException) -> str:
    """The last line of a traceback that lies in the plugin: ` (notes.py:7)`."""
    ours = (str(Path(__file__).parents[1]), str(Path(importlib.__file__).parent), "<")
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if not frame.filename.startswith(ours) and "site-packages" not in frame.filename:
            return f" ({Path(frame.filename).name}:{frame.lineno})"
    return ""


if __name__ == "__main__":
    main(*sys.argv[1:])
