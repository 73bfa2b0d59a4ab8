"""What a jail shows of the host."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from doorward_jail.nsjail.interpreter import Interpreter


@dataclass(frozen=True, slots=True)
class Shows:
    """What a jail shows of the host, all read-only: a Python with its packages; `paths` under their own names;
    `others`, files and folders under names below `/packages`. `text` has more lines for `doorward doctor`."""

    python: Interpreter
    paths: Sequence[Path] = ()
    others: Sequence[tuple[Path, str]] = ()
    text: Sequence[str] = field(default=())
