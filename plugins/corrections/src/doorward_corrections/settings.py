"""The keys `extra` and `optional` of servers."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

Extra = Annotated[
    Literal["refuse", "allow"],
    Field("refuse", description="Arguments that the document does not name, where it forbids none"),
]

Optional = Annotated[
    list[str],
    Field([], description='What need not be given, whatever the document says: "FUNCTION.ARGUMENT.FIELD"'),
]
