"""The tokens of `[[principals.NAME.tokens]]`, read again when the configuration file changes, without a restart."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from doorward import ConfigError, log
from doorward.configuration import EVERYONE, Loaded, TokenSettings, config_layers, read_config, validate
from doorward.files import stamp
from doorward.serving import can_come_in


class TokenFile:
    """The tokens of the configuration by their hashes, each with its principal."""

    def __init__(self, loaded: Loaded) -> None:
        self._loaded = loaded
        self.tokens = {
            token.hash: (name, token)
            for name, settings in loaded.config.principals.items()
            for token in settings.tokens
        }
        self._stamp = self._found()
        self._known = _rights(loaded.principals or {})

    def changed(self) -> bool:
        """Whether the file has changed since it was read."""
        return self._found() != self._stamp

    def refresh(self) -> None:
        """Read the file if it has changed. While it cannot be read, the tokens that it had before stay valid."""
        if (found := self._found()) == self._stamp:
            return
        try:
            self.tokens = dict(self._read())
        except (ConfigError, OSError, ValueError, TypeError) as error:
            log.error(
                "tokens_not_read",
                file=str(self._loaded.path),
                why=str(error),
                hint="The tokens that it had before are still valid.",
            )
        self._stamp = found

    def _found(self) -> tuple[int, ...]:
        try:
            return stamp(self._loaded.path.stat())
        except OSError:
            return ()

    def _tables(self) -> Mapping[str, Any]:
        loaded = self._loaded
        data = config_layers(read_config(loaded.path)[0], loaded.secrets, loaded.options, managed=loaded.managed).data
        tables = data.get("principals", {})
        if not isinstance(tables, Mapping) or not all(isinstance(table, Mapping) for table in tables.values()):
            raise ConfigError("must hold tables", place=f"{self._loaded.file} [principals]")
        return tables

    def _read(self) -> Iterator[tuple[str, tuple[str, TokenSettings]]]:
        """The tokens in the file, without new ones of principals whose rights have changed since the start."""
        tables = self._tables()
        rights = _rights(tables)
        for name, table in tables.items():
            if not table.get("tokens") or not can_come_in(name):
                continue
            same = all(rights.get(key, {}) == self._known.get(key, {}) for key in (name, EVERYONE))
            for each in table["tokens"]:
                token = validate(
                    TokenSettings,
                    each,
                    secrets=self._loaded.secrets,
                    place=f"{self._loaded.file} [principals.{name}] tokens",
                )
                if same or self.tokens.get(token.hash, ("",))[0] == name:
                    yield token.hash, (name, token)
                else:
                    log.warning(
                        "token_needs_restart",
                        id=token.id,
                        why=f"[principals.{name}] has changed: it is read at the start",
                    )


def _rights(tables: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The tables of principals without their tokens."""
    return {name: {key: value for key, value in table.items() if key != "tokens"} for name, table in tables.items()}
