"""The one place through which commands write the configuration: nothing is written that could not be used."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from doorward.host import files
from doorward.model.errors import ConfigError

if TYPE_CHECKING:
    from doorward.cli.common import Project
    from doorward.config.config import Loaded

Text = str | Callable[[str | None], str | None]
"""What the file shall have, or what makes that of what it has (`None`: there is none). `None`: it stays as it is."""


def change_config(project: Project, text: Text, check: Callable[[Loaded], object] = bool) -> bool:
    """Write the configuration, once it is sure that Doorward starts with it; `check` may raise ConfigError, too. Of
    several processes one does this at a time. Returns: whether anything was written.

    Raises: ConfigError; then the file is as it was.
    """
    from doorward.config import config
    from doorward.policy.decisions import check_rules

    file = project.config
    with files.alone(file):
        new = text if isinstance(text, str) else text(_there(project))
        if new is None:
            return False
        loaded = config.load(file, env_file=project.env_file, text=new)
        check_rules(loaded)
        check(loaded)
        files.write(file, new.encode())
        return True


def _there(project: Project) -> str | None:
    """What the file has, with its mark and its line ends. Raises: ConfigError if it cannot be read."""
    try:
        return project.config.read_bytes().decode()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        hint = "It must be a text in UTF-8."
        raise ConfigError(f"cannot be read: {error}", place=str(project.config), hint=hint) from None
