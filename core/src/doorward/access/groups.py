"""Groups of principals, and which principals a rule is for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from doorward.access.patterns import Patterns
from doorward.data.near_names import in_place_of
from doorward.model.errors import ConfigError

_MARK = "@"


def members_of(groups: Mapping[str, Iterable[str]]) -> Callable[[Iterable[str], str], Callable[[str], bool]]:
    """See `PluginContext.members`."""
    known = Groups(groups)
    return lambda names, place: known.members(names, place).fit


class Groups:
    """`[groups]` of the configuration."""

    def __init__(self, groups: Mapping[str, Iterable[str]]) -> None:
        self._patterns = {name: Patterns(members) for name, members in groups.items()}

    def of(self, principal: str) -> list[str]:
        """The groups that a principal belongs to."""
        return [name for name, members in self._patterns.items() if members.fit(principal)]

    def members(self, names: Iterable[str], place: str) -> Patterns:
        """The principals that names, wildcards and `@GROUP` mean together. Raises: ConfigError for an unknown group."""
        meant: set[str] = set()
        for name in names:
            group = name.removeprefix(_MARK)
            if group == name:
                meant.add(name)
            elif group in self._patterns:
                meant |= self._patterns[group].written
            else:
                near = in_place_of(group, [*self._patterns])
                hint = 'Write [groups] with a line such as ops = ["alice", "bob*"].'
                raise ConfigError(f"principal: there is no group {group!r}{near}", place=place, hint=hint)
        return Patterns(meant)
