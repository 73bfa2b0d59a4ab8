"""The names of a program: which it defines, which it needs, and which it gets for free."""

from __future__ import annotations

import ast
import builtins
import difflib
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from functools import cached_property

from doorward import Program

_MAKES_NAMES = re.compile(r"\b(?:globals|locals|vars|exec|setattr|modules|builtins|__builtins__|__dict__|__main__)\b")
"""Words of programs that may define names which no reader finds."""


class Names:
    """What the text of a program tells of its names."""

    def __init__(self, program: Program, is_alias: Callable[[str], bool] = lambda name: False) -> None:
        """`is_alias` says of a name whether programs have it without an import, as those of other systems do."""
        self._program, self._is_alias = program, is_alias
        self.makes_names = bool(_MAKES_NAMES.search(program.code))

    def is_free(self, name: str) -> bool:
        """Whether a program has this name without defining it: parameters, what earlier runs of its session left, and
        what other systems' programs use without an import."""
        if self._program.continues or name in self._program.params:
            return True
        return self._is_alias(name)

    def is_missing(self, name: str) -> bool:
        """Whether a name is certainly not there when it is needed: bound nowhere in the text, by no means, and not only
        said in annotations, which need not be evaluated."""
        return not self.makes_names and name in self.needed and name not in self.bound

    def near(self, name: str) -> str:
        """What was meant by a name that is missing, as an advice; empty if nothing is near."""
        if name in sys.stdlib_module_names:
            return f"write `import {name}` first"
        known = {*self.bound, *self._program.params, *dir(builtins)}
        near = difflib.get_close_matches(name[:100], [each for each in known if len(each) < 100], n=3, cutoff=0.75)
        return f"did you mean {' or '.join(f'`{each}`' for each in near)}?" if near else ""

    def is_value(self, line: int) -> bool:
        """Whether a line belongs to the last expression, which is the value of the program."""
        last = self.tree.body[-1] if self.tree and self.tree.body else None
        return isinstance(last, ast.Expr) and last.lineno <= line <= (last.end_lineno or line)

    @cached_property
    def tree(self) -> ast.Module | None:
        """The syntax tree, or None if this Python reads none."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return ast.parse(self._program.code)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None

    @cached_property
    def bound(self) -> frozenset[str]:
        """The names that any statement defines, in whatever scope, or deletes."""
        return frozenset(name for node in self._nodes() for name in _bound(node))

    @cached_property
    def needed(self) -> frozenset[str]:
        """The names that are read anywhere but in annotations."""
        return frozenset(
            node.id for node in self._nodes() if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
        )

    def _nodes(self) -> Iterator[ast.AST]:
        """All nodes but those of annotations. Not recursive: a tree may be deep."""
        todo: list[ast.AST] = [self.tree] if self.tree else []
        while todo:
            node = todo.pop()
            yield node
            said = (getattr(node, "annotation", None), getattr(node, "returns", None))
            todo += [child for child in ast.iter_child_nodes(node) if child not in said]


def _bound(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Name(id=str(name), ctx=ast.Store() | ast.Del()) | ast.arg(arg=str(name)) | ast.alias(asname=str(name)):
            yield name
        case ast.alias(name=str(name)):
            yield name.partition(".")[0]
        case ast.Global(names=names) | ast.Nonlocal(names=names):
            yield from names
        case ast.MatchMapping(rest=str(name)):
            yield name
        case _ if isinstance(own := getattr(node, "name", None), str):  # functions, classes, handlers, patterns, …
            yield own
