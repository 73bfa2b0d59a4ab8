"""Python names for what upstreams offer, by the same rule for every source, so that names can be guessed."""

from __future__ import annotations

import builtins
import hashlib
import keyword
import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Container, Iterable, Sequence
from typing import NamedTuple

_RESERVED_NAMES = {*keyword.kwlist, *keyword.softkwlist, *dir(builtins)} - {
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
"""Names that a function must not hide. Builtins that are also everyday parameter names (`id`, `type`) are allowed."""

_MAX_ID_CHARACTERS = 400
"""The rest of an id is ignored: a name is cut to 100 characters anyway."""

_ACRONYM = re.compile(r"(?<=[A-Z])(?=[A-Z](?!s(?![a-z]))[a-z])")
"""Behind the last letter before a new word: behind the `P` of `HTTPServer`, but nowhere in `URLs`."""

_ACRONYM_ONCE = re.compile(r"(?<=[A-Z])(?=[A-Z][a-z])")
"""The rule of earlier versions, by which `listURLs` was `list_ur_ls`."""

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
"""Words that say what to do but not with what: none of them alone is a good name."""


def python_name(text: str, *, fallback: str = "unnamed", acronym: re.Pattern[str] = _ACRONYM) -> str:
    """A snake_case ASCII identifier: `getForecast` → `get_forecast`, `repos/list-tags` → `repos_list_tags`.

    A keyword or builtin gets a trailing underscore, a name that starts with a digit a leading one.
    """
    plain = unicodedata.normalize("NFKD", text[:_MAX_ID_CHARACTERS]).encode("ascii", "ignore").decode()
    if not re.search(r"[A-Za-z0-9]", plain):
        plain = f"{fallback}_{_digest(text)}" if text else fallback
    apart = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", acronym.sub("_", plain))
    name = re.sub(r"[^a-z0-9]+", "_", apart.lower()).strip("_")[:100].rstrip("_")
    if name[0].isdigit():
        name = f"_{name}"
    return f"{name}_" if name in _RESERVED_NAMES else name


def unique_names(ids: Iterable[str]) -> dict[str, str]:
    """A Python name for each id; their order does not matter. Where several ids would share a name, one gets it: the id
    that already equals it, else the shortest. The others get a suffix made from their own id."""
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
    """A free name for an id whose plain name is taken: with a digest of the id, so that it depends on no other id."""
    name, again = f"{plain}_{_digest(text)}", ""
    while name in taken:
        again += "+"
        name = f"{plain}_{_digest(text + again)}"
    return name


class Named(NamedTuple):
    """The name of a function, with its id and route, which do not depend on the names of other functions."""

    name: str
    id: str
    route: str


def _brief(id: str, route: str) -> str:
    """The name of an id without the parts that only repeat its route. FastAPI makes the id
    `read_user_users__user_id__get` from the function `read_user` and `GET /users/{user_id}`; its brief name is
    `read_user`. The name of an id that is only path and method starts with the method, as in a route."""
    method, _, path = route.partition(" ")
    if not path or len(route) > _MAX_ID_CHARACTERS or not id.lower().endswith(method.lower()):
        return python_name(id)
    repeated = re.sub(r"\W", "_", path)
    own = id.removesuffix(f"{repeated}_{method.lower()}")
    if own != id and re.search("[A-Za-z0-9]", own):
        name = python_name(own)
        return python_name(own + repeated) if name.strip("_") in _VERBS else name
    plain = re.fullmatch("[A-Za-z0-9_-]+", id)  # `users/get` is `get` of `users`
    return python_name(route) if plain and python_name(id) == python_name(f"{path} {method}") else python_name(id)


def brief_names(made: Sequence[Named]) -> list[str]:
    """The brief names of functions (see `_brief`), where no other function could have that name; else the full ones."""
    briefs = [_brief(f.id, f.route) if f.name == python_name(f.id) else f.name for f in made]
    claimed = Counter(name for f, brief in zip(made, briefs, strict=True) for name in {f.name, brief})
    return [brief if claimed[brief] == 1 else f.name for f, brief in zip(made, briefs, strict=True)]


def other_names(functions: Sequence[Named]) -> list[tuple[str, ...]]:
    """Further names for each function: its full name, and the name that earlier versions gave it. None of them is, or
    would be, the name of another function."""
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
    """The names of newly compiled functions. Functions that were there before keep their names; new ones get others.

    A name that does not come from the id or the route (a hook has given it) is not kept. Nor is the full name of an id
    that has a brief one now.
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
    """The catalog's name for a name that a person or another system writes: `my-api.x` and `mcp__my-api__x` become
    `my_api.x`, the name by which programs import the server. Ranges in patterns (`[a-m]`) stay."""
    if text.startswith("mcp__"):
        text = text[5:].replace("__", ".", 1)
    server, dot, name = text.partition(".")
    if "-" not in server:  # most have none, and each call asks
        return text
    return (
        re.sub(r"[^\[\]]+(\]?)", lambda found: found[0] if found[1] else found[0].replace("-", "_"), server)
        + dot
        + name
    )


def is_plain(name: object) -> bool:
    """Whether a name can be a parameter or a field without a change. (Python would normalise other alphabets.)"""
    if not isinstance(name, str) or len(name) > 110 or name == "__debug__":
        return False
    return name.isascii() and name.isidentifier() and not keyword.iskeyword(name)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:4]


def some(names: Collection[str], room: int = 400) -> str:
    """As many names as fit into `room` characters, and how many more there are; `none` if the list is empty."""
    shown: list[str] = []
    for name in names:
        room -= len(name) + 2
        if room < 0 and shown:
            return f"{', '.join(shown)} and {len(names) - len(shown)} more"
        shown.append(name)
    return ", ".join(shown) or "none"
