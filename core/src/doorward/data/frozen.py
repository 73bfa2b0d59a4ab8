"""Values that nobody can change: for whoever may look at something that others rely on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

from doorward.data.values import MAX_DEPTH


def _refuse(self: Any, *given: Any, **named: Any) -> NoReturn:
    raise TypeError("this cannot be changed here: copy it first, with copy.deepcopy")


class _Frozen:
    """What tables and lists that cannot be changed have in common. A copy of one is a plain table or list again."""

    __slots__ = ()

    __setitem__ = __delitem__ = __iadd__ = __ior__ = __imul__ = _refuse
    append = clear = extend = insert = pop = popitem = remove = reverse = setdefault = sort = update = _refuse

    def __deepcopy__(self, memo: Any) -> Any:
        return thawed(self)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return thawed, (thawed(self),)

    def __copy__(self) -> Any:
        return self.copy()  # type: ignore[attr-defined]


class FrozenDict(_Frozen, dict[Any, Any]):
    """A `dict` that cannot be changed."""

    __slots__ = ()


class FrozenList(_Frozen, list[Any]):
    """A `list` that cannot be changed."""

    __slots__ = ()


def frozen(value: Any, depth: int = 0) -> Any:
    """A copy of a value that cannot be changed at any level; `…` stands for what is nested too deeply to be sent."""
    kind = type(value)
    if kind is str or kind is int or kind is float or kind is bool or value is None:
        return value
    if depth > MAX_DEPTH:
        return "…"
    if kind is dict or isinstance(value, Mapping):
        return FrozenDict([(key, frozen(part, depth + 1)) for key, part in value.items()])
    if isinstance(value, list):
        return FrozenList([frozen(part, depth + 1) for part in value])
    if kind is tuple:
        return tuple([frozen(part, depth + 1) for part in value])
    if isinstance(value, (set, frozenset)):
        return frozenset(value)
    return bytes(value) if isinstance(value, bytearray) else value


def thawed(value: Any) -> Any:
    """A plain copy of a frozen value."""
    if isinstance(value, dict):
        return {key: thawed(part) for key, part in value.items()}
    if isinstance(value, list):
        return [thawed(part) for part in value]
    return tuple(map(thawed, value)) if type(value) is tuple else value
