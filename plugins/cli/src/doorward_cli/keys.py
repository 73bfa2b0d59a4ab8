"""How keys of the configuration are written, other than those of servers."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from typing import Any

from doorward import ConfigError

from doorward_cli.config_file import change_config
from doorward_cli.shared import Project
from doorward_cli.starter import starter


def put_keys(project: Project, values: Mapping[str, Any]) -> None:
    """Write these keys, and those of tables in them, into the configuration, which is made if there is none. The rest
    of the file stays as it is, and so does all of it if Doorward would not start with it.

    Raises: ConfigError.
    """

    def text(before: str | None) -> str:
        import tomlkit
        from tomlkit.exceptions import TOMLKitError

        text = starter() if before is None else before
        mark = "\ufeff" if text.startswith("\ufeff") else ""
        try:
            document = tomlkit.parse(text.removeprefix(mark))
            _put(document, values)
        except (TOMLKitError, TypeError, AttributeError) as error:
            raise ConfigError(f"cannot be changed: {error}", place=str(project.config)) from None
        return mark + tomlkit.dumps(document)

    change_config(project, text)


def _put(table: MutableMapping[str, Any], values: Mapping[str, Any]) -> None:
    import tomlkit

    for key, value in values.items():
        if isinstance(value, Mapping):
            above = all(isinstance(each, Mapping) for each in value.values())
            _put(table.setdefault(key, tomlkit.table(is_super_table=above)), value)
        else:
            table[key] = value
