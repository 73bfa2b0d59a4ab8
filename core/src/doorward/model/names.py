"""What upstreams call things → Python names. The same rule for every source, so that names can be guessed."""

from __future__ import annotations

import builtins
import hashlib
import keyword
import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Container, Iterable, Sequence
from typing import NamedTuple

_TAKEN = {*keyword.kwlist, *keyword.softkwlist, *dir(builtins)} - {
    "_",
    "type",
    "id",
    "format",
    "filter",
    "range",
    "input",
    "hash",
    "match",
    "case",
}
"""Names that a function may not hide. Everyday parameter names that happen to be builtins are left alone."""

_LONGEST = 400
"""Characters of an id that are looked at: a name is cut to 100."""


_ACRONYM = re.compile(r"([A-Z])(?=[A-Z](?!s(?![a-z]))[a-z])")
"""Behind it a word begins: `HTTPServer`, but not `URLs`."""

_ACRONYM_ONCE = re.compile(r"([A-Z])(?=[A-Z][a-z])")
"""As earlier versions had it: `listURLs` was `list_ur_ls`."""

_VERBS = {
    "list",
    "get",
    "read",
    "show",
    "retrieve",
    "fetch",
    "find",
    "create",
    "add",
    "update",
    "replace",
    "patch",
    "put",
    "post",
}
_VERBS |= {"delete", "remove", "set"}
"""They say what to do and not with which: no name alone."""


def python_name(text: str, *, fallback: str = "unnamed", acronym: re.Pattern[str] = _ACRONYM) -> str:
    """A snake_case ASCII identifier: `getForecast` → `get_forecast`, `repos/list-tags` → `repos_list_tags`.

    Keywords and builtins get a trailing underscore, a leading digit a leading one.
    """
    plain = unicodedata.normalize("NFKD", text[:_LONGEST]).encode("ascii", "ignore").decode()
    if not re.search(r"[A-Za-z0-9]", plain):
        plain = f"{fallback}_{_digest(text)}" if text else fallback
    apart = acronym.sub(r"\1_", plain)
    apart = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", apart)
    name = re.sub(r"[^a-z0-9]+", "_", apart.lower()).strip("_")[:100].rstrip("_")
    if name[0].isdigit():
        name = f"_{name}"
    return f"{name}_" if name in _TAKEN else name


def unique_names(ids: Iterable[str]) -> dict[str, str]:
    """A Python name for each id, whatever their order. Where several ids would share a name, one has it: that which
    already reads so, else the shortest; the others carry a suffix made of their own id."""
    groups: dict[str, list[str]] = {}
    for text in dict.fromkeys(ids):
        groups.setdefault(python_name(text), []).append(text)
    first = {name: min(group, key=lambda text: (text != name, len(text), text)) for name, group in groups.items()}
    names = {text: name for name, text in first.items()}
    taken = set(first)
    for plain, group in sorted(groups.items()):
        for text in sorted(group):
            if text not in names:
                names[text] = suffixed(plain, text, taken)
                taken.add(names[text])
    return names


def suffixed(plain: str, text: str, taken: Container[str]) -> str:
    """A name that is not taken for an id whose own one is: with a digest of the id, so that it depends on no other."""
    name, again = f"{plain}_{_digest(text)}", ""
    while name in taken:
        again += "+"
        name = f"{plain}_{_digest(text + again)}"
    return name


class Named(NamedTuple):
    """A function by its name, and by what does not change with the names of others: id and route."""

    name: str
    id: str
    route: str


def _brief(id: str, route: str) -> str:
    """The name of an id without what that repeats of its route: of `read_user_users__user_id__get`, as FastAPI makes it
    of the function `read_user` for `GET /users/{user_id}`, that is `read_user`. One that is only path and method has
    the method in front, like a route."""
    method, _, path = route.partition(" ")
    if not path or len(route) > _LONGEST or not id.lower().endswith(method.lower()):
        return python_name(id)
    repeated = re.sub(r"\W", "_", path)
    own = id.removesuffix(f"{repeated}_{method.lower()}")
    if own != id and re.search("[A-Za-z0-9]", own):
        name = python_name(own)
        return python_name(own + repeated) if name.strip("_") in _VERBS else name
    plain = re.fullmatch("[A-Za-z0-9_-]+", id)  # `users/get` is `get` of `users`
    return python_name(route) if plain and python_name(id) == python_name(f"{path} {method}") else python_name(id)


def brief_names(made: Sequence[Named]) -> list[str]:
    """The names of functions without what their ids repeat of their routes, where no other could be called so."""
    briefs = [_brief(f.id, f.route) if f.name == python_name(f.id) else f.name for f in made]
    claimed = Counter(name for f, brief in zip(made, briefs, strict=True) for name in {f.name, brief})
    return [brief if claimed[brief] == 1 else f.name for f, brief in zip(made, briefs, strict=True)]


def other_names(functions: Sequence[Named]) -> list[tuple[str, ...]]:
    """By what else each function is meant: what its id reads in full, and what earlier versions made of it; nothing
    that another is called, or would be."""
    found = []
    for f in functions:
        ids = (
            [f.id]
            if f.name in (python_name(f.id), _brief(f.id, f.route))
            else [f.route]
            if f.name == python_name(f.route)
            else []
        )
        found.append(
            {name for id in ids for name in (python_name(id), python_name(id, acronym=_ACRONYM_ONCE))} - {f.name}
        )
    claimed = Counter(name for f, names in zip(functions, found, strict=True) for name in {f.name, f.id, *names})
    return [tuple(sorted(name for name in names if claimed[name] == 1)) for names in found]


def kept_names(made: Sequence[Named], before: Iterable[Named]) -> list[str]:
    """The names of freshly made functions, where those that were there before keep theirs: who is new gives way.

    A name that cannot come of the id or the route (a hook has given it) is not kept, nor what an id reads in full where
    its name is brief.
    """
    places: dict[str, dict[str, int]] = {}
    for index, function in enumerate(made):
        places.setdefault(function.id, {}).setdefault(function.route, index)
    names = [function.name for function in made]
    kept: dict[int, str] = {}
    for old in before:
        routes = places.get(old.id, {})
        index = routes.get(old.route, next(iter(routes.values())) if len(routes) == 1 else -1)
        longer = index >= 0 and old.name == python_name(old.id) and names[index] == _brief(old.id, old.route)
        if (
            index >= 0
            and index not in kept
            and not longer
            and (old.name == names[index] or _comes_of(old.name, made[index]))
        ):
            kept[index] = old.name
    if all(names[index] == name for index, name in kept.items()):
        return names
    taken = set(kept.values())
    for index, function in enumerate(made):
        if index not in kept:
            name = function.name
            kept[index] = name = suffixed(name, f"{function.id} {function.route}", taken) if name in taken else name
            taken.add(name)
    return [kept[index] for index in range(len(made))]


def _comes_of(name: str, function: Named) -> bool:
    plain = (python_name(function.id), python_name(function.route), _brief(function.id, function.route))
    return any(
        name == p or re.fullmatch(r"_[0-9a-f]{4}(_\d+)?", name.removeprefix(p)) for p in plain if name.startswith(p)
    )


def qualified(text: str) -> str:
    """The catalog's name for what a person or another system writes: `my-api.x` and `mcp__my-api__x` are `my_api.x`,
    because a function carries the name by which programs import its server. In patterns, ranges (`[a-m]`) stay."""
    if text.startswith("mcp__"):
        text = text[5:].replace("__", ".", 1)
    server, dot, name = text.partition(".")
    return (
        re.sub(r"[^\[\]]+(\]?)", lambda found: found[0] if found[1] else found[0].replace("-", "_"), server)
        + dot
        + name
    )


def is_plain(name: object) -> bool:
    """Whether this can be written as it is, as a parameter or a field. (Other alphabets Python would normalise.)"""
    if not isinstance(name, str) or len(name) > 110 or name == "__debug__":
        return False
    return name.isascii() and name.isidentifier() and not keyword.iskeyword(name)


def class_name(text: str) -> str:
    """`nullable-simple-user` → `NullableSimpleUser`; of a dotted name, the last part."""
    parts = re.findall(r"[A-Za-z0-9]+", text[:_LONGEST].rstrip(".").rpartition(".")[2])
    name = "".join(part[0].upper() + part[1:] for part in parts)[:60]
    return name if name[:1].isalpha() and not keyword.iskeyword(name) else f"Model{name}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:4]


def some(names: Collection[str], room: int = 400) -> str:
    """The names that have room in so many characters, and how many more there are; `none` if there is none."""
    shown: list[str] = []
    for name in names:
        room -= len(name) + 2
        if room < 0 and shown:
            return f"{', '.join(shown)} and {len(names) - len(shown)} more"
        shown.append(name)
    return ", ".join(shown) or "none"
