"""Advice for a program's author, before it runs: what does not work in a sandbox without network and credentials.

This is no security boundary. The sandbox and the broker are; a guard that reads source text can be tricked. Each
finding names the line and an alternative. Whatever it refuses can be allowed by name, for executors in which it works.
"""

from __future__ import annotations

import ast
import re
import sys
import warnings
from collections.abc import Container, Iterator
from typing import TYPE_CHECKING

from doorward import Finding, Settings, hookimpl
from pydantic import Field

from doorward_guard_ast.rules import (
    ALLOW,
    BUILTINS,
    CREDENTIAL,
    CREDENTIAL_NAME,
    HOST_FILE,
    HOST_PATH,
    NAMES,
    NOT_ALLOWED,
    RETURNS_NOTHING,
    SYNTAX,
    Rule,
)

if TYPE_CHECKING:
    from doorward import PluginContext, Program

PLUGIN_API = 1

MAX_FINDINGS = 20
"""Findings that are reported for one program; those that refuse it come first."""

MAX_NAME_PARTS = 6
"""Parts of a dotted name that are checked."""

MAX_SHOWN_CHARS = 200
"""Length of a source line in a message, and of an imported name."""

MAX_DOTS = 2000
"""Dots in one dotted name: Python's parser takes time that grows with their square (32,000: three seconds)."""

_DOTTED = re.compile(r"\b(?>\w+[\s\\]*\.[\s\\]*)+")
_TOO_DEEP = Finding(
    "the code is nested too deeply to be read", instead="split long expressions into several statements"
)
_FLAGS = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT


class AstSettings(Settings):
    """`[hooks.ast]`"""

    allow: list[str] = Field(
        [], description='Names to say nothing of: modules ("socket"), names in them ("os.system"), built-ins ("eval")'
    )
    refuse: list[str] = Field([], description="More modules, or names in modules, to refuse; stronger than allow")


class AstGuard:
    """The hook plugin of the guard."""

    Settings = AstSettings

    def __init__(self, context: PluginContext[AstSettings]) -> None:
        self._allow = frozenset(context.settings.allow)
        self._refuse = frozenset(context.settings.refuse)

    @hookimpl
    def guard_program(self, program: Program) -> list[Finding]:
        unreadable = _too_large(program) or _no_text(program.code)
        if unreadable:
            return [unreadable]
        if program.language != "python":
            from doorward_guard_ast.scripts import refused

            return refused(program.code, self._refuse)
        tree = _parse(program.code)
        if isinstance(tree, Finding):
            return [tree] if tree.refuse else []
        return _most_important(
            (known, finding) for known, finding in self._findings(tree) if not self._granted(known, program.granted)
        )

    def _findings(self, tree: ast.Module) -> Iterator[tuple[str, Finding]]:
        """All findings, each with the name that it is about."""
        nodes = list(_walk(tree))
        names = _Names(node for node, _ in nodes)
        optional = {
            known[0] for node, tried in nodes if tried for name in _imported(node) if (known := self._rule(name))
        }
        for node, tried in nodes:
            match node:
                case ast.Import() | ast.ImportFrom():
                    for imported in _imported(node):
                        yield from self._of_name(imported, node, optional)
                case ast.Attribute() if (dotted := names.resolve(node)) and not self._rule(dotted.rpartition(".")[0]):
                    yield from self._of_name(dotted, node, optional)
                case ast.Call(func=ast.Name(id=name)) if name not in names.bound and (rule := self._builtin(name)):
                    yield name, _finding(rule, node, name)
                case ast.Call(func=function, args=[ast.Constant(value=str(text)), *_]):
                    yield from self._of_text(names.resolve(function), text, node, advice=True)
                case ast.Subscript(value=value, slice=ast.Constant(value=str(text)), ctx=ast.Load()):
                    yield from self._of_text(names.resolve(value), text, node, advice=tried)
        yield from _uncalled_main(tree, names)

    def _granted(self, known: str, granted: Container[str]) -> bool:
        """Whether the operator has given programs what this rule is about: it, or a package of this name."""
        rule = NAMES.get(known)
        return bool(rule and rule.unless and (rule.unless in granted or known in granted) and known not in self._refuse)

    def _of_name(self, name: str, node: ast.stmt | ast.expr, optional: Container[str]) -> Iterator[tuple[str, Finding]]:
        """The findings about a dotted name. For an `optional` one, which the program can do
        without, there is only advice."""
        if found := self._rule(name):
            known, rule = found
            yield known, _finding(rule, node, known, advice=known in optional)

    def _rule(self, name: str) -> tuple[str, Rule] | None:
        """The rule for a dotted name or for something that contains it, and the name in that rule."""
        parts = name.split(".", MAX_NAME_PARTS)[:MAX_NAME_PARTS]
        above = [".".join(parts[:n]) for n in range(len(parts), 0, -1)]
        for known in above:
            if known in self._refuse:
                return known, NOT_ALLOWED
        if self._allow.isdisjoint(above):
            for known in above:
                if known in NAMES:
                    return known, NAMES[known]
        return None

    def _builtin(self, name: str) -> Rule | None:
        if name in self._refuse:
            return NOT_ALLOWED
        return None if name in self._allow else BUILTINS.get(name)

    def _of_text(self, name: str | None, text: str, node: ast.expr, *, advice: bool) -> Iterator[tuple[str, Finding]]:
        """The findings about a text literal, depending on what is called or looked up with it."""
        if name is None or name in self._allow or name.partition(".")[0] in self._allow:
            return
        if name in ("os.environ", "os.environ.get", "os.getenv") and CREDENTIAL_NAME.search(text):
            yield f"{name} {text}", _finding(CREDENTIAL, node, text, advice=advice)
        elif name in ("open", "io.open", "pathlib.Path") and HOST_PATH.match(text):
            yield f"{name} {text}", _finding(HOST_FILE, node, text)


class _Names:
    """The modules and members that a program's names stand for, as far as its imports tell."""

    def __init__(self, nodes: Iterator[ast.AST]) -> None:
        self.bound: set[str] = set()
        self.loaded: set[str] = set()
        self._aliases: dict[str, str] = {}
        for node in nodes:
            match node:
                case ast.Name(id=name, ctx=ctx):
                    (self.loaded if isinstance(ctx, ast.Load) else self.bound).add(name)
                case (
                    ast.FunctionDef(name=name)
                    | ast.AsyncFunctionDef(name=name)
                    | ast.ClassDef(name=name)
                    | ast.arg(arg=name)
                ):
                    self.bound.add(name)
                case ast.Import(names=names):
                    self._aliases |= {a.asname: a.name[:MAX_SHOWN_CHARS] for a in names if a.asname}
                    self._aliases |= {top: top for a in names if not a.asname for top in [a.name.partition(".")[0]]}
                case ast.ImportFrom(names=names):
                    self._aliases |= dict(zip((a.asname or a.name for a in names), _imported(node), strict=False))
        self.bound |= self._aliases.keys()

    def resolve(self, node: ast.expr) -> str | None:
        """The full dotted name of an expression: after `from os import environ`, `environ.get` is `os.environ.get`."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute) and len(parts) < 4:
            parts.insert(0, node.attr)
            node = node.value
        if not isinstance(node, ast.Name):
            return None
        if node.id in self._aliases:
            return ".".join([self._aliases[node.id], *parts])
        return "open" if node.id == "open" and not parts and "open" not in self.bound else None


def _too_large(program: Program) -> Finding | None:
    """A finding if the code is too large. This is checked first, in bytes of UTF-8."""
    size, most = len(program.code.encode(errors="surrogatepass")), program.limits.code_bytes
    return (
        Finding(f"the code has {size:,} bytes; {most:,} are allowed", instead="pass data in `params`, not in the code")
        if size > most
        else None
    )


def _no_text(code: str) -> Finding | None:
    found = re.search("[\0\ud800-\udfff]", code)
    if not found:
        return None
    what = "a NUL character" if found[0] == "\0" else "half of a surrogate pair"
    return Finding(
        f"the code holds {what}, which no source text may",
        code.count("\n", 0, found.start()) + 1,
        f"write it as {ascii(found[0])[1:-1]}",
    )


def _parse(code: str) -> ast.Module | Finding:
    """The syntax tree, or a finding that says why there is none. Whatever error hostile text
    causes becomes a finding."""
    if any(name[0].count(".") > MAX_DOTS for name in _DOTTED.finditer(code)):
        return _TOO_DEEP
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = compile(code, "<program>", "exec", flags=_FLAGS | ast.PyCF_ONLY_AST, dont_inherit=True)
            # Some errors show only when compiling, such as `return` outside a function. Nothing runs.
            compile(tree, "<program>", "exec", flags=_FLAGS, dont_inherit=True)
    except SyntaxError as error:
        return _syntax(error, code)
    except (RecursionError, MemoryError):
        return _TOO_DEEP
    except Exception as error:
        return Finding(f"the code cannot be read: {type(error).__name__}: {error}"[:MAX_SHOWN_CHARS])
    assert isinstance(tree, ast.Module)
    return tree


_NEWER = re.compile(r"\b[fF][rR]?['\"]|\b[rR][fF]['\"]|^type \w+|^(async )?(def|class) \w+\[")
"""Syntax of Python 3.12 (PEP 695, PEP 701) that an older host cannot parse, but the executor perhaps can."""


def _syntax(error: SyntaxError, code: str) -> Finding:
    # Errors of the second compilation have no text.
    lines, at = (error.text.split("\n"), 0) if error.text else (code.split("\n"), (error.lineno or 1) - 1)
    source = lines[at].strip()[:MAX_SHOWN_CHARS] if 0 <= at < len(lines) else ""
    instead = next((do for words, do in SYNTAX.items() if words in error.msg), "")
    if "```" in source:
        instead = "send plain Python, without ``` fences"
    message = f"{error.msg[:MAX_SHOWN_CHARS]}: {source}" if source else error.msg[:MAX_SHOWN_CHARS]
    refuse = not (sys.version_info < (3, 12) and _NEWER.search(source))
    return Finding(message, error.lineno, instead, refuse, type(error).__name__)


def _walk(tree: ast.Module) -> Iterator[tuple[ast.AST, bool]]:
    """All nodes, each with whether an `except` handles what it raises. Not recursive: a tree may be deep."""
    todo: list[tuple[ast.AST, bool]] = [(tree, False)]
    while todo:
        node, tried = todo.pop()
        yield node, tried
        if isinstance(node, ast.Try | ast.TryStar) and node.handlers:
            todo += [(child, True) for child in node.body]
            todo += [(child, tried) for child in (*node.handlers, *node.orelse, *node.finalbody)]
        else:
            todo += [(child, tried) for child in ast.iter_child_nodes(node) if child._fields]


def _imported(node: ast.AST) -> list[str]:
    """The dotted names that a statement imports. Very long names are cut: programs could make the guard repeat
    them thousands of times."""
    match node:
        case ast.Import(names=names):
            return [alias.name[:MAX_SHOWN_CHARS] for alias in names]
        case ast.ImportFrom(module=str(module), names=names, level=0):
            return [f"{module[:MAX_SHOWN_CHARS]}.{alias.name[:MAX_SHOWN_CHARS]}" for alias in names]
        case _:
            return []


def _uncalled_main(tree: ast.Module, names: _Names) -> Iterator[tuple[str, Finding]]:
    """A finding if `main` is defined but not called: authors who are used to scripts expect it to run."""
    for node in tree.body:
        if (
            isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            and node.name == "main"
            and "main" not in names.loaded
        ):
            yield "main", _finding(RETURNS_NOTHING, node)


def _finding(rule: Rule, node: ast.stmt | ast.expr, text: str = "", *, advice: bool = False) -> Finding:
    refuse = rule.refuse and (not advice or rule is NOT_ALLOWED)
    text = text[:MAX_SHOWN_CHARS]
    allow = ALLOW.replace("{}", rule.way.replace("{}", text))
    instead = f"{rule.instead}; {allow}" if refuse and rule is not NOT_ALLOWED else rule.instead
    return Finding(rule.message.replace("{}", text), node.lineno, instead, refuse)


def _most_important(findings: Iterator[tuple[str, Finding]]) -> list[Finding]:
    """One finding for each name (the first that refuses, if any does), at most `MAX_FINDINGS`, sorted by line."""
    kept: dict[str, Finding] = {}
    for name, finding in sorted(findings, key=lambda f: _rank(f[1])):
        kept.setdefault(name, finding)
    return sorted(sorted(kept.values(), key=_rank)[:MAX_FINDINGS], key=lambda f: f.line or 0)


def _rank(finding: Finding) -> tuple[bool, int]:
    return not finding.refuse, finding.line or 0
