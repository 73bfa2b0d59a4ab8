"""The keys of `[limits]` for one run, made from the dataclass `Limits`."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from pydantic import ByteSize, Field, PositiveFloat, PositiveInt

from doorward.model.programs import Limits

_SIZE_SUFFIX = "_bytes"
"""The end of the name of a size. Its key does not have it, because the value may also be a text such as "512MiB"."""


def _key(name: str, default: Any, meaning: str) -> tuple[Any, Any]:
    if name.endswith(_SIZE_SUFFIX):
        return ByteSize, Field(ByteSize(default), description=meaning)
    return PositiveInt if isinstance(default, int) else PositiveFloat, Field(default, description=meaning)


KEYS = {limit.name: limit.name.removesuffix(_SIZE_SUFFIX) for limit in fields(Limits)}
"""The key of each limit in the configuration, by the name of its field."""

FIELDS: dict[str, Any] = {
    KEYS[each.name]: _key(each.name, each.default, each.metadata["meaning"]) for each in fields(Limits)
}
"""The pydantic fields of these keys."""
