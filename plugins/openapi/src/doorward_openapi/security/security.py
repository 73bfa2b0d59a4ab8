"""What a document says about credentials (`security`, `securitySchemes`; 2.0:
`securityDefinitions`) → suggestions for `auth`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from itertools import islice
from typing import Any

from doorward import Suggestion

from doorward_openapi.document.refs import BadRef, Documents
from doorward_openapi.security.schemes import Home, Names, Scheme, Way, ways

Requirement = tuple[tuple[str, tuple[str, ...]], ...]
"""Schemes that are required together, each with its scopes."""

_MAX_SCHEMES = 50
_MAX_NEEDS = 5000
_MAX_ALTERNATIVES = 20
_MAX_SCHEMES_TOGETHER = 5
_MAX_SUGGESTIONS = 6


class Security:
    """The security requirements of a document's operations, gathered one by one. `headers` (lower case) are those that
    the operator sets anyway: schemes that they carry need no auth."""

    def __init__(
        self, server: str, root: Mapping[str, Any], documents: Documents, home: Home, headers: Collection[str]
    ) -> None:
        self._server = server
        self._home = home
        self._default = root.get("security")
        self._schemes = dict(_schemes(root, documents))
        self._given = {name for name, scheme in self._schemes.items() if scheme.header in headers}
        self._needs: Counter[tuple[Requirement, ...]] = Counter()
        self.closed = 0
        """How many operations need credentials."""

    def add(self, node: Any) -> None:
        """Add the requirements of one operation."""
        own = node.get("security", self._default) if isinstance(node, dict) else None
        alternatives = tuple(dict.fromkeys(self._requirements(own)))
        if not alternatives or () in alternatives:  # an empty object: credentials are optional
            return
        self.closed += 1
        if alternatives in self._needs or len(self._needs) < _MAX_NEEDS:
            self._needs[alternatives] += 1

    def warnings(self) -> Iterator[str]:
        """Warnings about schemes that are required but not supported."""
        used = {name for alternatives in self._needs for requirement in alternatives for name, _ in requirement}
        for name in sorted(used, key=str):
            scheme = self._schemes.get(name)
            if scheme is not None and scheme.unsupported:
                yield f"credentials: {scheme.unsupported} is not supported"

    def suggestions(self) -> list[Suggestion]:
        """Suggestions, the one that serves most operations first. If a document declares schemes and uses none, each of
        them is suggested, with no operation that it serves."""
        wanted: dict[frozenset[str], None] = {}
        for alternatives in self._needs or [(((name, ()),) for name in self._schemes)]:
            for requirement in alternatives:
                wanted.setdefault(frozenset(name for name, _ in requirement))
        found = [each for names in islice(wanted, _MAX_SCHEMES) for each in self._of(names)]
        found.sort(key=lambda each: (-each[1].serves, each[0]))
        unique = {str(suggestion.auth): suggestion for _, suggestion in reversed(found)}
        return list(reversed(unique.values()))[:_MAX_SUGGESTIONS]

    def _requirements(self, security: Any) -> Iterator[Requirement]:
        for each in security[:_MAX_ALTERNATIVES] if isinstance(security, list) else ():
            if isinstance(each, dict) and len(each) <= _MAX_SCHEMES_TOGETHER:
                needed = ((name, _scopes(scopes)) for name, scopes in each.items() if name not in self._given)
                yield tuple(sorted(needed, key=str))

    def _of(self, names: frozenset[str]) -> Iterator[tuple[int, Suggestion]]:
        """The suggestions for schemes that are required together, each with the effort that it takes. A scheme that can
        be satisfied in several ways gives several suggestions."""
        schemes = [self._schemes[name] for name in sorted(names) if name in self._schemes]
        if not schemes or len(schemes) < len(names) or any(scheme.unsupported for scheme in schemes):
            return
        serves, scopes = self._served(names)
        if all(
            scheme.kind in ("oauth2", "openIdConnect") for scheme in schemes
        ):  # converters write each flow as a scheme of its own: one token will do
            every = sorted(set().union(*scopes.values()))
            combinations = [[way] for scheme in schemes for way in ways(scheme, Names(self._server), self._home, every)]
        else:
            free = Names(self._server)
            each = [list(ways(scheme, free, self._home, sorted(scopes.get(scheme.name, ())))) for scheme in schemes]
            combinations = [[way] for way in each[0]] if len(each) == 1 else [[own[0] for own in each]]
        for together in combinations:
            if len({way.place for way in together}) == len(together):  # two cannot share a place
                yield sum(way.trouble for way in together), self._suggestion(together, serves)

    def _suggestion(self, together: list[Way], serves: int) -> Suggestion:
        says = " and ".join(way.says for way in together)
        elsewhere = tuple(dict.fromkeys(url for way in together for url in way.elsewhere))
        return Suggestion([way.table for way in together], says, serves, elsewhere)

    def _served(self, names: frozenset[str]) -> tuple[int, dict[str, set[str]]]:
        """The number of operations for which these schemes suffice, and the scopes that those need for each scheme."""
        serves, scopes = 0, dict[str, set[str]]()
        for alternatives, count in self._needs.items():
            if enough := next((r for r in alternatives if all(name in names for name, _ in r)), None):
                serves += count
                for name, needed in enough:
                    scopes.setdefault(name, set()).update(needed)
        return serves, scopes


def _schemes(root: Mapping[str, Any], documents: Documents) -> Iterator[tuple[str, Scheme]]:
    components = root.get("components")
    schemes = components.get("securitySchemes") if isinstance(components, dict) else None
    declared = root.get("securityDefinitions") if "swagger" in root else schemes
    for name, node in islice(declared.items(), _MAX_SCHEMES) if isinstance(declared, dict) else ():
        try:
            node, _ = documents.follow(node, documents.bundle.root)
        except BadRef:
            continue
        if isinstance(node, dict):
            yield name, Scheme.read(name, node)


def _scopes(scopes: Any) -> tuple[str, ...]:
    return tuple(s for s in scopes[:1000] if isinstance(s, str)) if isinstance(scopes, list) else ()
