"""The messages of the code that have a hint, read from the code."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from texts import FOLDERS, FUNCTION, HOLE, ROOT, Module, module_of, parameters, returned

IN_THE_HINT = "(see its hint)"
"""The advice of a message whose hint is made at run time."""
_ADVICE = ("hint", "instead", "advice")
"""What the code calls the words that say what to do."""
_SAID = ("message", "what", "check", "why")
"""What it calls the words before those. Else they are the first argument."""
_LOGGED = ("error", "warning", "info", "_warn")


class Message(NamedTuple):
    """`error` is the class that is raised, or `log`; `folder` that of the distribution, `module` the path of the module
    in there."""

    folder: str
    module: str
    error: str
    said: str
    advice: tuple[str, ...]


def messages() -> list[Message]:
    """All messages that have a hint, each with every hint that it may have."""
    found: dict[tuple[str, str, str, str], dict[str, None]] = {}
    for folder in FOLDERS:
        for file in sorted((ROOT / folder / "src").rglob("*.py")):
            module = module_of(file)
            path = "/".join(file.relative_to(ROOT / folder / "src").parts[1:])
            for error, said, advice in (*_given_with_hints(module), *_answered_with_hints(module)):
                if re.search(r"\w\w", advice):
                    found.setdefault((folder, path, error, said), {})[advice] = None
    return [Message(*key, tuple(advice)) for key, advice in found.items()]


def _given_with_hints(module: Module) -> Iterator[tuple[str, str, str]]:
    """Class, message and hint, where the code gives a hint to an error or to the log."""
    for node in module.nodes:
        match node:
            case ast.Assign(targets=[ast.Attribute(attr="hint")], value=value):  # of an error that there is already
                yield from (("", HOLE, _plain(advice)) for advice in module.texts(value, node))
    for call in (node for node in module.nodes if isinstance(node, ast.Call)):
        given = _arguments(module, call)
        name = next((name for name in _ADVICE if name in given), None)
        if name is None:
            continue
        error = "log" if _called(call) in _LOGGED else _called(call)
        said = None if error == "log" else next((given[name] for name in _SAID if name in given), None)
        said = said or (call.args[0] if call.args else None)
        before = f"{HOLE}: " if "place" in given else ""
        hint = given[name]
        if isinstance(hint, ast.Name) and (pairs := list(_pairs(module, hint))):
            ways = [([_filled(said, known)], [advice]) for known, advice in pairs]
        else:
            ways = [(module.texts(said, call), module.texts(hint, call) or _unknown(hint))]
        for words, advices in ways:
            for one, advice in itertools.product(words or [HOLE], advices):
                if advice != IN_THE_HINT or re.search(r"\w", one):
                    yield error, _plain(before + one), _plain(advice)


def _arguments(module: Module, call: ast.Call) -> dict[str, ast.expr]:
    """The arguments of a call by the names of the parameters, as far as they are known."""
    given = {word.arg: word.value for word in call.keywords if word.arg}
    found = module.look_up(_called(call)) if isinstance(call.func, ast.Name) else None
    return dict(zip(parameters(found[1]), call.args, strict=False)) | given if found else given


def _unknown(hint: ast.expr) -> list[str]:
    """The advice of a hint that no text of the code is; none where the hint of another error is passed on."""
    passed_on = isinstance(hint, ast.Constant) or "hint" in ast.unparse(hint)
    return [] if passed_on else [IN_THE_HINT]


def _pairs(module: Module, hint: ast.Name) -> Iterator[tuple[dict[str, str], str]]:
    """Where a function gives message and hint at once (`why, hint = _explained(…)`): each pair that it returns."""
    for node in ast.walk(module.function_of(hint) or module.tree):
        match node:
            case ast.Assign(targets=[ast.Tuple(elts=[ast.Name(), ast.Name()] as targets)], value=ast.Call() as call):
                names = [target.id for target in targets if isinstance(target, ast.Name)]
                found = module.look_up(_called(call))
                if hint.id not in names or found is None or not isinstance(found[1], FUNCTION):
                    continue
                there, at = found[0], names.index(hint.id)
                for each in returned(found[1]):
                    if isinstance(each, ast.Tuple):
                        yield from (
                            ({names[1 - at]: words}, advice)
                            for words in there.texts(each.elts[1 - at], each)
                            for advice in there.texts(each.elts[at], each)
                        )


def _filled(said: Any, known: dict[str, str]) -> str:
    """An f-string with what is known of its parts."""
    parts = said.values if isinstance(said, ast.JoinedStr) else []
    return "".join(
        part.value if isinstance(part, ast.Constant) else known.get(getattr(part.value, "id", ""), HOLE)
        for part in parts
    )


def _answered_with_hints(module: Module) -> Iterator[tuple[str, str, str]]:
    """In the module of hints for what Python says: the words that a message must have for each hint that it returns."""
    if module.file.name != "hints.py":
        return
    for node in module.nodes:
        above = module.parents.get(node)
        if isinstance(node, ast.Return) and node.value is not None and isinstance(above, ast.If):
            words = " / ".join(dict.fromkeys(_wanted(module, above.test)))
            for text in module.texts(node.value, node) if words else ():
                yield "", words, _plain(text)


def _wanted(module: Module, condition: ast.expr) -> Iterator[str]:
    """The words that a condition looks for; of a pattern, what is no pattern in it."""
    for node in ast.walk(condition):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) > 7:
            yield node.value
        elif isinstance(node, ast.Name) and isinstance(value := module.named.get(node.id), ast.Call):
            for pattern in module.texts(value.args[0], value):
                yield from re.sub(r"\\b|\\(?=\.)", "", re.sub(r"\([^()]*\)", HOLE, pattern)).split("|")


def _plain(text: str) -> str:
    """On one line, with one hole in place of several."""
    return re.sub(rf"{HOLE}(?: ?{HOLE})+", HOLE, " ".join(text.split()))


def _called(call: ast.Call) -> str:
    return call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")
