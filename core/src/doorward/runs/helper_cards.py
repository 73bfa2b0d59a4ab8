"""Descriptions of `doorward` and its helpers, made of their signatures and docstrings.

`get_functions` and `help` in a program show them to the author of a program. Every helper in `HELPERS` gets one.
"""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from doorward.data.languages import PYTHON, is_script
from doorward.data.near_names import nearest
from doorward.data.wording import first_sentence

if TYPE_CHECKING:
    from doorward.runs.helper_context import Helper

MODULE = "doorward"
_IN_A_SCRIPT = f'import * as {MODULE} from "{MODULE}";'

ERRORS = {
    "ApiError": "An HTTP API answered with a status of 400 or more: e.status, e.body (JSON as its value, else text), "
    "e.retry_after\n(seconds or None); str(e) says it all. `except doorward.ApiError as e`.",
    "ToolError": "A tool of an MCP server says that it failed; str(e) is its text, and there is nothing else to it.",
}
"""Descriptions of the error classes, which sandboxes define themselves."""


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

    def __init__(self) -> None:
        self._helpers: dict[str, Helper] = {}
        self._about = {**ERRORS}
        self.in_calls: dict[str, str] = {}
        """How helpers are called without a program, of those that are."""
        self._example = ""

    def add(self, helpers: Mapping[str, Helper], calls: Mapping[str, str], example: str) -> None:
        """Describe more helpers. See `Modules.add`."""
        self._helpers |= helpers
        about = {name: about for name, about in self._about.items() if name not in ERRORS}
        self._about = about | {name: inspect.getdoc(helper) or "" for name, helper in helpers.items()} | ERRORS
        self.in_calls |= calls
        self._example = self._example or example

    def card(self, asked: str, language: str = PYTHON) -> dict[str, Any] | None:
        """The card of `doorward` or `doorward.NAME`: `{"function", "import", "signature", "text"}`, or `{"function",
        "error"}` with similar names. `None` for anything else."""
        module, _, name = asked.partition(".")
        if module != MODULE:
            return None
        if not name:
            return {"function": MODULE, "text": (_IN_SCRIPTS + "\n" if is_script(language) else "") + self._listed()}
        if name not in self._about:
            near = ", ".join(f"{MODULE}.{each}" for each in nearest(name, list(self._about), 3))
            others = f"Near: {near}." if near else f"There are: {', '.join(self._about)}."
            return {"function": asked[:200], "error": f"there is no {asked[:200]}. {others}"}
        about = textwrap.indent(self._about[name], "    ").strip()
        helper = self._helpers.get(name)
        head = f"def {name}{written(helper)}" if helper else f"class {name}(Exception)"
        text = f'import doorward\n\n{head}:\n    """{about}\n    """'
        text = f"{_IN_SCRIPTS}\n\n{text}" if is_script(language) else text
        imported = _IN_A_SCRIPT if is_script(language) else f"import {MODULE}"
        return {"function": asked, "import": imported, "signature": head, "text": text}

    def card_in_calls(self, asked: str, servers: str) -> dict[str, Any] | None:
        """The card of all helpers that are called without a program, and of the servers that there are: no other tool
        tells these. `None` if something else was asked for."""
        module, _, name = asked.partition(".")
        if module != MODULE:
            return None
        if name and name not in self.in_calls:
            return {"function": asked[:200], "error": f"there is no {asked[:200]}. There are: {self.names_in_calls()}."}
        text = f'Servers: {servers}. get_functions(["NAME"]) says more of one.'
        if self.in_calls:
            helpers = "\n".join(f"{MODULE}.{each}{signature}" for each, signature in self.in_calls.items())
            text += f"\n\nHelpers, called as functions are:\n{helpers}\n\n{self._example}"
        return {"function": asked, "text": text}

    def names_in_calls(self) -> str:
        """Those helpers, in a line."""
        return ", ".join(f"{MODULE}.{name}" for name in self.in_calls) or "none"

    def _listed(self) -> str:
        """All helpers, each with the first sentence of its description."""
        calls = {name: f"{name}{written(helper, types=False)}" for name, helper in self._helpers.items()}
        lines = (f"{calls.get(name, name)}: {_first(about)}" for name, about in self._about.items())
        return "\n".join(
            ['Helpers for programs (`import doorward`). More of each: get_functions(["doorward.pages"]).', *lines]
        )


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
    return first_sentence(" ".join(text.split()))[0].rstrip(".")
