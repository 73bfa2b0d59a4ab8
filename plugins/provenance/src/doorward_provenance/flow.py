"""The flow of values through a program, read from its text: which calls' answers may be in an argument of another call.

A name stands for all that is ever assigned to it, wherever; a condition is a source of what is assigned under it. What
cannot be told is everything so far."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

Sources = frozenset[str]
"""Qualified names of functions, and `ANY`."""

ANY = "?"
"""Stands for everything so far."""

_NOTHING: Sources = frozenset()
_ANYTHING: Sources = frozenset({ANY})
_MOST_NODES = 20_000
_MOST_ROUNDS = 12
_OPAQUE = frozenset({"exec", "eval", "compile", "globals", "locals", "vars", "setattr", "getattr", "__import__"})
"""Names of what gives or changes values in a way that a text does not show."""
_READS = frozenset({"open", "input"})
"""Builtins that give what the text does not show."""
_PURE_MODULES = """asyncio base64 binascii bisect calendar codecs collections colorsys copy csv datetime decimal difflib
enum fractions functools gzip hashlib heapq hmac html itertools json math numbers operator quopri random re secrets
statistics string struct textwrap time typing unicodedata urllib uuid zlib zoneinfo"""
_PURE = frozenset(_PURE_MODULES.split())
"""Python's modules whose functions give only what is made of their arguments."""
_ALL = "*"
"""Stands for every parameter of a function."""

Resolve = Callable[[Sequence[str]], str | None]
"""The qualified name of the function that a path (`mail`, `list_mails`) means; `ANY` if its server has no such one;
`None` if it begins with no server."""


Bounds = Callable[[str, Any], bool]
"""Whether what a function answers, when it is given a schema, is nobody's words."""


class Flow:
    """The flow through one program in Python. `given`: names that are there before it begins, its parameters.
    `continues`: earlier programs may have left more."""

    def __init__(
        self,
        code: str,
        resolve: Resolve,
        *,
        given: Iterable[str] = (),
        continues: bool = False,
        bounds: Bounds = lambda function, schema: False,
    ) -> None:
        self._resolve, self._bounds = resolve, bounds
        self._names: dict[str, Sources] = {}
        self._parameters: dict[str, list[str]] = {}
        self._sites: dict[str, dict[str, Sources]] = {}
        self._under: list[Sources] = []
        self._tests: dict[ast.AST, list[ast.expr]] = {}
        self._changed = False
        self._everything = _NOTHING
        self._tree = None if continues else _parsed(code)
        if self._tree is not None:
            self._assigned = {*given, *_assigned(self._tree)}
            self._modules = _imported(self._tree)
            self._follow(self._tree)

    def sources(self, function: str, parameter: str) -> Sources:
        """The functions whose answers may be in an argument of a function, by their qualified names."""
        if self._tree is None or function not in self._sites:
            return _ANYTHING
        site = self._sites[function]
        return _NOTHING.union(
            site.get(parameter, _NOTHING), site.get(_ALL, _NOTHING), *self._sites.get(ANY, {}).values()
        )

    def _follow(self, tree: ast.Module) -> None:
        with suppress(RecursionError):
            for _ in range(_MOST_ROUNDS):
                self._changed = False
                self._block(tree.body)
                if not self._changed:
                    return
        self._tree = None

    # What is assigned

    def _add(self, name: str, sources: Sources) -> None:
        if name not in self._assigned:
            return
        before = self._names.get(name, _NOTHING)
        now = before.union(sources, *self._under)
        if now != before:
            self._names[name], self._changed = now, True

    def _assign(self, target: ast.expr, sources: Sources) -> None:
        match target:
            case ast.Name(id=name):
                self._add(name, sources)
            case ast.Tuple(elts=several) | ast.List(elts=several):
                for each in several:
                    self._assign(each, sources)
            case ast.Starred(value=inner):
                self._assign(inner, sources)
            case ast.Attribute(value=inner):
                self._assign(inner, sources)
            case ast.Subscript(value=inner, slice=key):
                self._assign(inner, sources | self._value(key))
            case ast.Call(func=inner) | ast.Await(value=inner):
                self._assign(inner, sources)
            case _:
                pass

    @contextmanager
    def _conditional(self, sources: Sources) -> Iterator[None]:
        self._under.append(sources)
        try:
            yield
        finally:
            self._under.pop()

    # Statements

    def _block(self, statements: Iterable[ast.stmt]) -> None:
        for statement in statements:
            self._statement(statement)

    def _statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Assign(targets=targets, value=value):
                sources = self._value(value)
                for target in targets:
                    self._assign(target, sources)
                    self._is_called(target, value)
            case ast.AnnAssign(target=target, value=value) if value is not None:
                self._assign(target, self._value(value))
            case ast.AugAssign(target=target, value=value):
                self._assign(target, self._value(value))
            case ast.For(target=target, iter=each) | ast.AsyncFor(target=target, iter=each):
                sources = self._value(each)
                self._assign(target, sources)
                with self._conditional(sources | self._conditions(node)):
                    self._block([*node.body, *node.orelse])
            case ast.While():
                with self._conditional(self._conditions(node)):
                    self._block([*node.body, *node.orelse])
            case ast.If(test=test):
                with self._conditional(self._value(test)):
                    self._block([*node.body, *node.orelse])
            case ast.With(items=items, body=body) | ast.AsyncWith(items=items, body=body):
                for item in items:
                    sources = self._value(item.context_expr)
                    if item.optional_vars is not None:
                        self._assign(item.optional_vars, sources)
                self._block(body)
            case ast.FunctionDef(name=name, args=args) | ast.AsyncFunctionDef(name=name, args=args):
                self._defined(name, args)
                self._block(node.body)
                self._add(name, self._conditions(node))
                for inner in ast.walk(node):
                    if isinstance(inner, ast.Return | ast.Yield | ast.YieldFrom) and inner.value is not None:
                        self._add(name, self._value(inner.value))
            case ast.Try() | ast.TryStar():
                self._block([*node.body, *node.orelse, *node.finalbody])
                for handler in node.handlers:
                    if handler.name:
                        self._add(handler.name, self._everything)
                    with self._conditional(self._everything):
                        self._block(handler.body)
            case ast.Match(subject=subject, cases=cases):
                sources = self._value(subject)
                for case in cases:
                    for captured in _assigned(case.pattern):
                        self._add(captured, sources)
                    with self._conditional(sources | (self._value(case.guard) if case.guard else _NOTHING)):
                        self._block(case.body)
            case _:
                for child in ast.iter_child_nodes(node):
                    if isinstance(child, ast.expr):
                        self._value(child)

    def _conditions(self, tree: ast.AST) -> Sources:
        """What the way through a loop or a function depends on: it may be left under any condition in it."""
        if tree not in self._tests:
            self._tests[tree] = [*_tests(tree)]
        return _NOTHING.union(*map(self._value, self._tests[tree]))

    def _defined(self, name: str, args: ast.arguments) -> None:
        named = [*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg]
        self._parameters[name] = [each.arg for each in named if each is not None]
        for default in (*args.defaults, *args.kw_defaults):
            if default is not None:
                self._pass([name], self._value(default))

    def _is_called(self, target: ast.expr, value: ast.expr) -> None:
        """A lambda gets the name to which it is assigned, and another name what that stands for."""
        if isinstance(target, ast.Name) and isinstance(value, ast.Lambda):
            self._defined(target.id, value.args)
        elif isinstance(target, ast.Name) and isinstance(value, ast.Name) and value.id in self._parameters:
            self._parameters[target.id] = self._parameters[value.id]

    def _pass(self, functions: Iterable[str], sources: Sources) -> None:
        """Arguments go to all parameters of functions of the program."""
        for function in functions:
            for parameter in self._parameters.get(function, ()):
                self._add(parameter, sources)

    # Expressions

    def _value(self, node: ast.expr) -> Sources:
        match node:
            case ast.Constant():
                return _NOTHING
            case ast.Name(id=name):
                return self._name(name)
            case ast.Attribute():
                return self._attribute(node)
            case ast.Call():
                return self._call(node)
            case ast.NamedExpr(target=target, value=value):
                sources = self._value(value)
                self._assign(target, sources)
                return sources
            case ast.Lambda(body=body):
                return self._value(body)
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
                return self._comprehension(node)
            case _:
                return _NOTHING.union(*(self._value(each) for each in _parts(node)))

    def _name(self, name: str) -> Sources:
        if name in self._assigned:
            return self._names.get(name, _NOTHING)
        if name in self._modules:
            path = self._modules[name].split(".")
            return self._reference(path) if len(path) > 1 else _NOTHING
        return _NOTHING if hasattr(builtins, name) and name not in _READS else self._unknown()

    def _reference(self, path: Sequence[str]) -> Sources:
        """What a path gives that begins with a module or a server."""
        name = self._resolve(path)
        if name is None:
            return _NOTHING if path[0] in _PURE or hasattr(builtins, path[0]) else self._unknown()
        return self._mentioned(name)

    def _unknown(self) -> Sources:
        return self._mentioned(ANY)

    def _mentioned(self, name: str) -> Sources:
        """A source, which an error may quote as well."""
        if name not in self._everything:
            self._everything, self._changed = self._everything | {name}, True
        return frozenset({name})

    def _attribute(self, node: ast.Attribute) -> Sources:
        path, inner = [node.attr], node.value
        while isinstance(inner, ast.Attribute):
            path.insert(0, inner.attr)
            inner = inner.value
        if isinstance(inner, ast.Name) and inner.id not in self._assigned:
            return self._reference([*self._modules.get(inner.id, inner.id).split("."), *path])
        return self._value(inner)

    def _call(self, node: ast.Call) -> Sources:
        called = self._value(node.func)
        plain, named = [self._value(each) for each in node.args], [(k.arg, self._value(k.value)) for k in node.keywords]
        given = _NOTHING.union(*plain, *(sources for _, sources in named))
        for function in called:
            self._site(function, _ALL, _NOTHING.union(*plain, *(sources for name, sources in named if name is None)))
            for name, sources in named:
                if name is not None:
                    self._site(function, name, sources)
        for each in node.args:  # what is handed over may be called with whatever is handed over beside it
            for function in self._value(each) if isinstance(each, ast.Name | ast.Attribute) else ():
                self._site(function, _ALL, given)
        passed = [each.id for each in node.args if isinstance(each, ast.Name)]
        if isinstance(node.func, ast.Name):
            self._pass([node.func.id], given)
            if node.func.id in self._parameters:  # it may change what it is given
                for each in node.args:
                    self._assign(each, given)
        elif isinstance(node.func, ast.Attribute):  # a method may add what it is given to its object
            self._assign(node.func.value, given)
        self._pass(passed, given | called)
        for each in (*node.args, *(keyword.value for keyword in node.keywords)):
            if isinstance(each, ast.Lambda):
                for parameter in ast.walk(each.args):
                    if isinstance(parameter, ast.arg):
                        self._add(parameter.arg, given | called)
        return _NOTHING if self._is_bounded(node, called) else called | given

    def _is_bounded(self, node: ast.Call, called: Sources) -> bool:
        """Whether a call's answer is nobody's words, by the schema that stands in the call."""
        written = [each.value for each in node.keywords if each.arg == "schema"]
        if not written or not called or ANY in called:
            return False
        try:
            schema = ast.literal_eval(written[0])
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            return False
        return all(self._bounds(function, schema) for function in called)

    def _site(self, function: str, parameter: str, sources: Sources) -> None:
        site = self._sites.setdefault(function, {})
        now = site.get(parameter, _NOTHING) | sources
        if now != site.get(parameter):
            site[parameter], self._changed = now, True

    def _comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> Sources:
        conditions = _NOTHING
        for generator in node.generators:
            self._assign(generator.target, self._value(generator.iter))
            conditions = conditions.union(*(self._value(each) for each in generator.ifs))
        parts = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        return conditions.union(*(self._value(each) for each in parts))


def _assigned(tree: ast.AST) -> Iterator[str]:
    """All names to which the program gives a value."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()) | ast.arg(arg=name):
                yield name
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield name
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                yield name
            case ast.MatchMapping(rest=str(name)):
                yield name
            case _:
                pass


def _tests(tree: ast.AST) -> Iterator[ast.expr]:
    """The conditions in a loop or a function, and what its loops go through."""
    for node in ast.walk(tree):
        match node:
            case ast.If(test=each) | ast.While(test=each) | ast.Assert(test=each):
                yield each
            case ast.For(iter=each) | ast.AsyncFor(iter=each) | ast.Match(subject=each):
                yield each
            case _:
                pass


def _imported(tree: ast.Module) -> dict[str, str]:
    """What modules, and names out of them, are called here."""
    found: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for name in node.names:
                first = name.name.partition(".")[0]
                found[name.asname or first] = name.name if name.asname else first
        elif isinstance(node, ast.ImportFrom):
            found |= {name.asname or name.name: f"{node.module or ''}.{name.name}" for name in node.names}
    return found


def _parts(node: ast.AST) -> Iterator[ast.expr]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):
            yield child
        elif not isinstance(child, ast.expr_context | ast.operator | ast.unaryop | ast.boolop | ast.cmpop):
            yield from _parts(child)


def _parsed(code: str) -> ast.Module | None:
    """`None` for what is no Python, is too long, or does what its text does not show."""
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    for count, node in enumerate(ast.walk(tree)):
        opaque = isinstance(node, ast.ClassDef | ast.Global | ast.Nonlocal) or (
            isinstance(node, ast.Name) and node.id in _OPAQUE
        )
        star = isinstance(node, ast.ImportFrom) and any(name.name == "*" for name in node.names)
        if opaque or star or count > _MOST_NODES or (isinstance(node, ast.Attribute) and node.attr.startswith("__")):
            return None
    return tree
