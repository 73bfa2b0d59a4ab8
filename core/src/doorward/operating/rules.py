"""Writes a rule into the configuration, before all others: the first one that fits a call counts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from doorward.cli.common import Project
from doorward.host import files
from doorward.model.errors import ConfigError


def rule_text(rule: Mapping[str, Any]) -> str:
    """The rule as it is written."""
    import tomlkit

    return tomlkit.dumps({"policy": {"rules": [rule]}}).removeprefix("[policy]\n").strip()


def put_first(project: Project, rule: Mapping[str, Any]) -> None:
    """Write a rule before the others of the configuration. The rest of the file stays as it is, and so does all of it
    if the configuration could not be used then. Raises: ConfigError."""
    file = project.config
    with files.alone(file):
        try:
            before = file.read_bytes()
        except OSError as error:
            raise ConfigError(f"cannot be read: {error.strerror}", place=str(file)) from None
        files.write(file, _with_rule(before.decode(), rule, str(file)).encode())
        try:
            project.load()
        except ConfigError:
            files.write(file, before)
            raise


def _with_rule(text: str, rule: Mapping[str, Any], place: str) -> str:
    import tomlkit
    from tomlkit.exceptions import TOMLKitError
    from tomlkit.items import AoT, Table

    mark = text[: text.startswith("\ufeff")]
    try:
        document = tomlkit.parse(text.removeprefix(mark))
        policy: Any = document.setdefault("policy", tomlkit.table(is_super_table=True))
        table = tomlkit.table()
        table.update(rule)
        rules = policy.get("rules") if isinstance(policy, Table) else None
        if isinstance(rules, AoT):
            rules.insert(0, table)
        elif rules is None and isinstance(policy, Table):
            policy.append("rules", tomlkit.aot())
            policy["rules"].append(table)
        else:
            hint = "Write the rules as [[policy.rules]], or add this one by hand."
            raise ConfigError("its rules are written inline, where none can be added", place=place, hint=hint)
    except TOMLKitError as error:
        raise ConfigError(str(error), place=place, hint="Mend the TOML.") from None
    return mark + tomlkit.dumps(document)
