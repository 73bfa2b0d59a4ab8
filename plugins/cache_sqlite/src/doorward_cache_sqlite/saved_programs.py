"""Programs with a name: scripts in the folder `programs` beside the configuration, each with a record beside it.

The script is the program: who edits it changes what runs. The record says which functions it uses, each with the hash
of its schema at that time. The recorded answers of a run, for its test, have a file of their own, since each search
reads the records.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from doorward import ConfigError, DoorwardError, Gateway, InvalidProgram, Program, UnknownName
from doorward.administration import json_digest, stems
from doorward.files import write_file
from doorward.sandboxing import CachedProgram
from doorward.serving import endpoint_of
from doorward.texts import nearest

from doorward_cache_sqlite.scripts import about

PYTHON = "python"
"""The language of saved programs."""

FOLDER = "programs"
"""The folder of saved programs, beside the configuration."""

MAX_FOUND = 3
"""Saved programs in the answer of a search."""

_MIN_FIT = 0.5
"""The share of the words of a query that a saved program must have to be found."""

_MAX_WORDS = 200

_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")


@dataclass(frozen=True, slots=True)
class Record:
    """What is known of a saved program beside its text. `functions` limits what it may call."""

    uses: Mapping[str, str] = field(default_factory=dict)
    functions: tuple[str, ...] | None = None


class SavedPrograms:
    """The saved programs of a configuration."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway, self.folder = gateway, (gateway.loaded.folder / FOLDER).resolve()
        self._read: dict[str, tuple[object, CachedProgram, frozenset[str]]] = {}

    def names(self) -> list[str]:
        """The names of all saved programs, sorted."""
        return sorted(file.stem for file in self.folder.glob("*.py") if _NAME.fullmatch(file.stem))

    def file(self, name: str) -> Path:
        """The script of this name, which need not be there. Raises: InvalidProgram for a name that cannot be one."""
        if not _NAME.fullmatch(name):
            hint = "Small letters, digits and _, with a letter at the beginning: weekly_report."
            raise InvalidProgram(f"{name[:80]!r} cannot be the name of a program", hint=hint)
        return self.folder / f"{name}.py"

    def get(self, name: str, principal: str) -> CachedProgram | None:
        """A saved program for a principal to run; `None` if there is none. Raises: ConfigError if it cannot be read."""
        if not _NAME.fullmatch(name) or not (file := self.file(name)).is_file():
            return None
        program = self.read(file, principal)
        # Whoever came by an endpoint is told of no function beyond it, neither by a program's text nor by its errors.
        return None if endpoint_of(principal) and not self._may_call(program) else program

    def read(self, file: Path, principal: str) -> CachedProgram:
        """A script for a principal to run; of one that lies elsewhere only its text is known. Raises: ConfigError
        if it cannot be read."""
        code, record = _read(file), self.record(file.stem) if file.parent == self.folder else Record()
        return CachedProgram(
            cache_id=file.stem,
            principal=principal,
            code=code,
            description=about(code),
            params=self._gateway.languages.parameters(code, PYTHON),
            functions=record.functions,
            uses=record.uses,
            digest=json_digest(code),
            created=file.stat().st_mtime,
        )

    def require(self, name: str, principal: str) -> CachedProgram:
        """The same. Raises: UnknownName if there is none, ConfigError."""
        if (found := self.get(name, principal)) is None:
            near = nearest(name, self.names(), 1)
            hint = f"Did you mean {near[0]}?" if near else "doorward save CACHE_ID NAME saves one."
            raise UnknownName(f"there is no saved program {name[:80]!r}", hint=hint)
        return found

    def record(self, name: str) -> Record:
        """What is known of a saved program. Raises: ConfigError if it cannot be read."""
        file = self._record_file(name)
        if not file.is_file():
            return Record()
        try:
            said = json.loads(_read(file))
            functions = said.get("functions")
            return Record(said["uses"], functions and tuple(functions))
        except (ValueError, LookupError, TypeError, AttributeError):
            raise ConfigError("this is no record of a saved program", place=str(file), hint="Save it again.") from None

    def recording(self, name: str) -> str | None:
        """The recorded run of a saved program, if there is one. Raises: ConfigError if it cannot be read."""
        file = self._recording_file(name)
        return _read(file) if file.is_file() else None

    def save(self, name: str, text: str, record: Record, recording: str | None = None) -> None:
        """Write a script that can be started, its record, and a recorded run, which only its owner can read."""
        self.folder.mkdir(parents=True, exist_ok=True)
        file = self.file(name)
        write_file(file, text.encode())
        file.chmod(0o755)
        self._save_record(name, record)
        self._recording_file(name).unlink(missing_ok=True)
        if recording is not None:
            write_file(self._recording_file(name), recording.encode(), private=True)

    def accept(self, name: str) -> None:
        """Take the functions that a program uses as they are now."""
        record = self.record(name)
        self._save_record(name, replace(record, uses={function: self.hash(function) for function in record.uses}))

    def remove(self, name: str) -> None:
        """Forget a saved program."""
        for file in (self.file(name), self._record_file(name), self._recording_file(name)):
            file.unlink(missing_ok=True)

    async def find(self, queries: Sequence[str], principal: str) -> list[dict[str, Any]]:
        """See `doorward.sandboxing.KeepsPrograms`. One whose functions are gone is not found."""
        asked = [words for query in queries if (words := {*stems(query, _MAX_WORDS)})]
        ranked: list[tuple[float, str, dict[str, Any]]] = []
        for name in self.names() if asked else ():
            with suppress(ConfigError):
                program, has = self._looked_up(name, principal)
                fit = max(len(words & has) / len(words) for words in asked)
                if fit >= _MIN_FIT and self._may_call(program):
                    shown = {"cache_id": name, "summary": program.description, "params": {**program.params}}
                    ranked.append((-fit, name, shown))
        return [shown for *_, shown in sorted(ranked, key=lambda each: each[:2])[:MAX_FOUND]]

    def _looked_up(self, name: str, principal: str) -> tuple[CachedProgram, frozenset[str]]:
        """A saved program, and the words by which it is found, as its files were when they last changed;
        whether the principal may run it is not asked. Raises: ConfigError."""
        files = self.file(name), self._record_file(name)
        stamp = [(there.st_mtime_ns, there.st_size) if (there := _stat(file)) else None for file in files]
        if name not in self._read or self._read[name][0] != stamp:
            program = self.read(self.file(name), principal)
            words = stems(f"{name} {program.description} {' '.join(program.uses)}", _MAX_WORDS)
            self._read[name] = stamp, program, frozenset(words)
        _, program, has = self._read[name]
        return replace(program, principal=principal), has

    def _may_call(self, program: CachedProgram) -> bool:
        asker = Program("", principal=program.principal, functions=program.functions)
        with suppress(DoorwardError):
            return all(self._gateway.discovery.callable(function, asker) for function in program.uses)
        return False

    def hash(self, qualified: str) -> str:
        """The hash of a function's schemas now; "" if it is gone."""
        server, _, name = qualified.partition(".")
        return self._gateway.catalog.schema_hash(server, name)

    def _save_record(self, name: str, record: Record) -> None:
        said = {"uses": {**record.uses}, "functions": record.functions}
        write_file(self._record_file(name), json.dumps(said, indent=1, ensure_ascii=False).encode(), private=True)

    def _record_file(self, name: str) -> Path:
        return self.file(name).with_suffix(".json")

    def _recording_file(self, name: str) -> Path:
        return self.file(name).with_suffix(".recording.json")


def _stat(file: Path) -> os.stat_result | None:
    with suppress(OSError):
        return file.stat()
    return None


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"cannot be read: {error}", place=str(file)) from None
