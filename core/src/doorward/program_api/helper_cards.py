"""Descriptions of `doorward` and its helpers, made of their signatures and docstrings.

`get_functions` and `help` in a program show them to the author of a program. Every helper in `HELPERS` gets one.
"""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from doorward.data.near_names import nearest
from doorward.describe.dialects import dialect_of
from doorward.programs.languages import JSON, PYTHON, is_script

if TYPE_CHECKING:
    from doorward.program_api.helper_context import Helper

MODULE = "doorward"

ERRORS = {
    "ApiError": "An HTTP API answered with a status of 400 or more: e.status, e.body (JSON as its value, else text), "
    "e.retry_after\n(seconds or None); str(e) says it all. `except doorward.ApiError as e`.",
    "ToolError": "A tool of an MCP server says that it failed; str(e) is its text, and there is nothing else to it.",
}
"""Descriptions of the error classes, which sandboxes define themselves."""


IN_CALLS = ("items", "pages", "reply", "list_resources", "read_resource", "list_prompts", "get_prompt")
"""The helpers that make sense without a program: each is called as a function is."""

_HOW_IN_CALLS = """\
// As Python writes it. Called as a function is, with its parameters as arguments: call_function(
// {"function": "doorward.items", "arguments": {"function": "server.name", "arguments": {…}, "most": 200}})"""

_IN_SCRIPTS = """\
// As Python writes it. In TypeScript: import * as doorward from "doorward"; await each call; what are keywords here go
// into an object at the end: await doorward.pages("server.function", { state: "open" }, { most: 3 })"""
"""What the author of a program in TypeScript or JavaScript must know to read the cards."""


class _Bare(str):
    """An annotation that is shown without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class HelperCards:
    """The cards of `doorward` and of each name in it."""

    def __init__(self, helpers: Mapping[str, Helper]) -> None:
        self._heads = {name: f"def {name}{written(helper)}" for name, helper in helpers.items()}
        self._heads |= {name: f"class {name}(Exception)" for name in ERRORS}
        self._calls = {name: f"{name}{written(helper, types=False)}" for name, helper in helpers.items()}
        self._about = {name: inspect.getdoc(helper) or "" for name, helper in helpers.items()} | ERRORS
        self.names = list(self._about)

    def card(self, asked: str, language: str = PYTHON) -> dict[str, Any] | None:
        """The card of `doorward` or `doorward.NAME`: `{"function", "import", "signature", "text"}`, or `{"function",
        "error"}` with similar names. `None` for anything else."""
        module, _, name = asked.partition(".")
        if module != MODULE:
            return None
        names = IN_CALLS if language == JSON else self.names
        how = _HOW_IN_CALLS if language == JSON else _IN_SCRIPTS if is_script(language) else ""
        if not name:
            return {"function": MODULE, "text": "\n".join(filter(None, [how, *self._listed(names, language)]))}
        if name not in names:
            near = nearest(name, names, 3)
            others = f"Near: {', '.join(f'{MODULE}.{n}' for n in near)}." if near else f"There are: {', '.join(names)}."
            return {"function": asked[:200], "error": f"there is no {asked[:200]}. {others}"}
        about = textwrap.indent(self._about[name], "    ").strip()
        imported = dialect_of(language).imported(MODULE, "")
        start = imported if language == JSON else f"import {MODULE}"
        text = "\n\n".join(filter(None, [how, start, f'{self._heads[name]}:\n    """{about}\n    """']))
        return {"function": asked, "import": imported, "signature": self._heads[name], "text": text}

    def _listed(self, names: Iterable[str], language: str) -> Iterator[str]:
        """Helpers, each with the first sentence of its description."""
        what = "Helpers" if language == JSON else "Helpers for programs (`import doorward`)"
        yield f'{what}. More of each: get_functions(["doorward.pages"]).'
        yield from (f"{self._calls.get(name, name)}: {_first(self._about[name])}" for name in names)


def written(helper: Helper, *, types: bool = True) -> str:
    """The signature of a helper as programs call it, without the run."""
    whole = inspect.signature(helper)

    def shown(annotation: Any) -> Any:
        return _Bare(annotation) if types else whole.empty

    parameters = [
        p.replace(annotation=shown(p.annotation)) for name, p in whole.parameters.items() if name not in ("self", "run")
    ]
    return str(whole.replace(parameters=parameters, return_annotation=shown(whole.return_annotation)))


def _first(text: str) -> str:
    """The first sentence."""
    return " ".join(text.split()).partition(". ")[0].rstrip(".")
