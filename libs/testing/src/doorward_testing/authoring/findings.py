"""What `doorward plugin check` finds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Status = Literal["ok", "to do", "wrong"]


@dataclass(frozen=True, slots=True)
class Found:
    """One line: how it is, what was checked, what was found, and what to do about it. What is `wrong` does not work;
    what is `to do` works, but not everywhere or not for long."""

    status: Status
    check: str
    says: str
    do: str = ""


def one_line(error: BaseException) -> str:
    """An error on one line that is not too long, with its type."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:300]}" if text else type(error).__name__
