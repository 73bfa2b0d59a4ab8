"""The one place through which commands write the configuration: nothing is written that could not be used."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from doorward import ConfigError
from doorward.files import alone, write_file

if TYPE_CHECKING:
    from doorward.configuration import Loaded

    from doorward_cli.shared import Project

Text = str | Callable[[str | None], str | None]
"""What the file shall have, or what makes that of what it has (`None`: there is none). `None`: it stays as it is."""


def change_config(project: Project, text: Text, check: Callable[[Loaded], object] = bool) -> bool:
    """Write the configuration, once it is sure that Doorward starts with it; `check` may raise ConfigError, too. Of
    several processes one does this at a time. Returns: whether anything was written.

    Raises: ConfigError; then the file is as it was.
    """
    from doorward.configuration import load_config

    file = project.config
    with alone(file):
        new = text if isinstance(text, str) else text(_there(project))
        if new is None:
            return False
        loaded = load_config(file, env_file=project.env_file, text=new)
        check(loaded)
        write_file(file, new.encode())
        return True


@dataclass(frozen=True, slots=True)
class Before:
    """What some files had before they were changed; `None`: they were not there."""

    texts: Mapping[Path, bytes | None]

    @classmethod
    def of(cls, *files: Path) -> Before:
        return cls({file: file.read_bytes() if file.is_file() else None for file in files})

    def put_back(self, changed: Before) -> list[Path]:
        """Let the files be as they were, unless they are no longer as they were when they were `changed`. Returns:
        those that are. Raises: ConfigError."""
        back = []
        for file, text in self.texts.items():
            with alone(file):
                if Before.of(file).texts[file] != changed.texts[file]:
                    continue
                if text is None:
                    file.unlink(missing_ok=True)
                elif text != changed.texts[file]:
                    write_file(file, text)
            back.append(file)
        return back


def _there(project: Project) -> str | None:
    """What the file has, with its mark and its line ends. Raises: ConfigError if it cannot be read."""
    try:
        return project.config.read_bytes().decode()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        hint = "It must be a text in UTF-8."
        raise ConfigError(f"cannot be read: {error}", place=str(project.config), hint=hint) from None


def beside(config: Path, value: Any) -> Any:
    """A path that exists, or a list of them, relative to the configuration's folder; any other value unchanged."""
    if isinstance(value, list):
        return [beside(config, each) for each in value]
    if not isinstance(value, str) or not Path(value).exists():
        return value
    return Path(os.path.relpath(value, config.resolve().parent)).as_posix()
