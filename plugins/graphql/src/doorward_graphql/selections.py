"""What is selected of a result if nobody says: its scalars, and those of objects in it, as far as they are few."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile
from typing import NamedTuple

from graphql import (
    GraphQLInterfaceType,
    GraphQLNamedType,
    GraphQLObjectType,
    GraphQLSchema,
    GraphQLUnionType,
    get_named_type,
    is_abstract_type,
    is_leaf_type,
    is_required_argument,
)

from doorward_graphql.connections import is_paged, items_field

MAX_FIELDS = 120
"""Fields of one default selection. If there are more, objects are selected less deeply; at last, only the first fields
are."""

MAX_VARIANTS = 10
"""Types that may stand for an interface or a union, if fields are to be selected that only some of them have."""

_Above = tuple[GraphQLNamedType, ...]


class _Members(NamedTuple):
    """The fields of a type that can be selected without arguments, and the types that may stand for it."""

    leaves: list[str]
    objects: list[tuple[str, GraphQLNamedType]]
    variants: list[GraphQLObjectType]


class Selections:
    """Default selections of one schema, with objects within a result `depth` levels deep."""

    def __init__(self, schema: GraphQLSchema, depth: int) -> None:
        self._schema = schema
        self._depth = depth
        self._roots = {schema.query_type, schema.mutation_type, schema.subscription_type}
        self._known: dict[str, _Members] = {}
        self._room = 0

    def default(self, type: GraphQLNamedType) -> str:
        """The selection for a result of this type, without braces; empty for a scalar."""
        if is_leaf_type(type):
            return ""
        for depth in range(self._depth, -1, -1):
            self._room = MAX_FIELDS
            found = " ".join(self._parts(type, depth, (type,)))
            if self._room >= 0:
                break
        return found or "__typename"

    def _takes(self) -> bool:
        """Whether there is room for one more field. Below zero, there was not."""
        self._room = max(self._room - 1, -1)
        return self._room >= 0

    def _parts(self, type: GraphQLNamedType, depth: int, above: _Above) -> Iterator[str]:
        """The parts of a selection. `above` are the types that lead to it, which are not selected again."""
        members = self._members(type)
        if is_abstract_type(type) and self._takes():
            yield "__typename"
        yield from takewhile(lambda _: self._takes(), members.leaves)
        if items := items_field(type):
            # The items of a connection are no deeper than itself. Those of edges are fields of the edge.
            inside = [each for each in members.objects if each[0] in ("pageInfo", items)]
            depth += 2 if items == "edges" else 1
        else:
            inside = members.objects if depth else []
        for name, inner in inside:
            if self._room < 0:
                return
            if inner not in above and (items or not self._is_paged(type, name)) and self._takes():
                yield f"{name} {{ {' '.join(self._parts(inner, depth - 1, (*above, inner))) or '__typename'} }}"
        yield from self._variants(members)

    def _is_paged(self, type: GraphQLNamedType, name: str) -> bool:
        assert isinstance(type, (GraphQLObjectType, GraphQLInterfaceType))
        return is_paged(type.fields[name])

    def _variants(self, members: _Members) -> Iterator[str]:
        """The scalars that only some of the types have which may stand for one. Where two of them give one name to
        fields of different types, which GraphQL does not allow in one answer, the later one gets another name."""
        common = {*members.leaves, *(name for name, _ in members.objects)}
        types: dict[str, str] = {}
        for variant in members.variants:
            parts = []
            for name in self._members(variant).leaves:
                kind = str(variant.fields[name].type)
                other = f"{name}_{variant.name}"
                if name in common or not self._takes():
                    continue
                if types.setdefault(name, kind) == kind:
                    parts.append(name)
                elif other not in common and types.setdefault(other, kind) == kind:
                    parts.append(f"{other}: {name}")
            if parts:
                yield f"... on {variant.name} {{ {' '.join(parts)} }}"

    def _members(self, type: GraphQLNamedType) -> _Members:
        if type.name not in self._known:
            self._known[type.name] = self._found(type)
        return self._known[type.name]

    def _found(self, type: GraphQLNamedType) -> _Members:
        found = _Members([], [], [])
        if type in self._roots:  # what is there are functions of their own
            return found
        if isinstance(type, (GraphQLInterfaceType, GraphQLUnionType)):
            possible = sorted(self._schema.get_possible_types(type), key=lambda each: each.name)
            found.variants.extend(possible if len(possible) <= MAX_VARIANTS else ())
        if isinstance(type, (GraphQLObjectType, GraphQLInterfaceType)):
            for name, field in type.fields.items():
                inner = get_named_type(field.type)
                if field.deprecation_reason is not None or any(map(is_required_argument, field.args.values())):
                    continue
                if is_leaf_type(inner):
                    found.leaves.append(name)
                elif inner not in self._roots:
                    found.objects.append((name, inner))
        return found
