"""The text of a configuration to start from."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from importlib import resources
from typing import Any


def starter(executors: Sequence[str] = ()) -> str:
    """The text of a file to start from. It names the default drivers that are installed, or these `executors`."""
    from doorward.configuration import Secrets, config_layers, find_index, find_managed

    managed, index = find_managed(), find_index()
    defaults = config_layers({}, Secrets(environ={}), managed=managed).data
    defaults = {**defaults, "executor": [*executors]} if executors else defaults
    keys = (
        ("executor", "executor", "where programs run: the first that can run it"),
        ("cache", "cache", "what keeps programs for run_cached_code"),
        ("plugins", "plugin", "guards and observers, in this order"),
    )
    lines = [
        f"# {key}: {managed.given_by} locks it"
        if managed and not managed.may_set(key)
        else _choice(key, defaults[key], [entry.name for entry in index.of(kind)], about)
        for key, kind, about in keys
    ]
    template = resources.files("doorward_cli").joinpath("starter.toml").read_text(encoding="utf-8")
    return template.replace("@drivers@", "\n".join(lines))


def _choice(key: str, default: Any, installed: Collection[str], about: str) -> str:
    """The line of one key, with the default drivers that are installed; a comment if none of them is."""
    names = [default] if isinstance(default, str) else default
    use = [name for name in names if name in installed]
    value = json.dumps((use or names) if isinstance(default, list) else default)
    others = [name for name in installed if name not in use]
    notes = [about, *([] if use else ["not installed"]), *([f"installed too: {', '.join(others)}"] if others else [])]
    return f"{'' if use else '# '}{key} = {value}  # {'; '.join(notes)}"
