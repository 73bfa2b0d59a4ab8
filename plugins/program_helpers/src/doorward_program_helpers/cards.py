"""Descriptions of `doorward` and its helpers, made of their signatures and docstrings.

`get_functions` and `help` in a program show them to the author of a program.
"""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from doorward.administration import some
from doorward.helping import MODULE, Helping
from doorward.texts import JSON, is_script, nearest
from doorward.values import first_sentence

from doorward_program_helpers.helpers import EXAMPLE, IN_CALLS

if TYPE_CHECKING:
    from doorward import Gateway, Program, Reply
    from doorward.helping import Helper, HelperContext

_IN_A_SCRIPT = f'import * as {MODULE} from "{MODULE}";'

_ABOUT_ERRORS = {
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


class HelperCards(Helping):
    """The cards of `doorward` and of each name in it."""

    calls = tuple(IN_CALLS)

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway

    @property
    def _helpers(self) -> Mapping[str, Helper]:
        """Those of this distribution, and those that others add to `doorward`."""
        return self._gateway.modules.helpers[MODULE]

    @property
    def _about(self) -> dict[str, str]:
        return {name: inspect.getdoc(helper) or "" for name, helper in self._helpers.items()} | _ABOUT_ERRORS

    def card(self, asked: str, asker: Program) -> dict[str, Any]:
        """The card of `doorward` or `doorward.NAME`: `{"function", "import", "signature", "text"}`, or `{"function",
        "error"}` with similar names."""
        name, scripts = asked.partition(".")[2], is_script(asker.language)
        if asker.language == JSON:
            return self._in_calls(asked, name, asker.principal)
        if not name:
            return {"function": MODULE, "text": (_IN_SCRIPTS + "\n" if scripts else "") + self._listed()}
        if name not in self._about:
            near = ", ".join(f"{MODULE}.{each}" for each in nearest(name, list(self._about), 3))
            others = f"Near: {near}." if near else f"There are: {', '.join(self._about)}."
            if name == "account":  # a block of Python in a jail, and of no other sandbox
                others = 'Name the account in each call, by the argument _account: "work".'
            return {"function": asked[:200], "error": f"there is no {asked[:200]}. {others}"}
        about = textwrap.indent(self._about[name], "    ").strip()
        helper = self._helpers.get(name)
        head = f"def {name}{_signature(helper)}" if helper else f"class {name}(Exception)"
        text = f'import doorward\n\n{head}:\n    """{about}\n    """'
        text = f"{_IN_SCRIPTS}\n\n{text}" if scripts else text
        return {
            "function": asked,
            "import": _IN_A_SCRIPT if scripts else f"import {MODULE}",
            "signature": head,
            "text": text,
        }

    def written(self, name: str, helper: Helper, language: str) -> str:
        form = IN_CALLS[name] if language == JSON else f"{_signature(helper)}."
        return f"It is written {MODULE}.{name}{form}"

    def after(self, run: HelperContext, function: str, arguments: Mapping[str, Any], reply: Reply) -> Iterable[str]:
        from doorward_program_helpers.next_call import next_call  # the start does not wait for it

        return next_call(self._gateway, run, function, arguments, reply)

    def _in_calls(self, asked: str, name: str, principal: str) -> dict[str, Any]:
        """The card of all helpers that are called without a program, and of the servers that there are: no other tool
        tells these."""
        if name and name not in IN_CALLS:
            there = ", ".join(f"{MODULE}.{each}" for each in IN_CALLS)
            return {"function": asked[:200], "error": f"there is no {asked[:200]}. There are: {there}."}
        servers = self._gateway.servers
        broken = [f"{each} (broken)" for each in servers.wrong(principal)]
        helpers = "\n".join(f"{MODULE}.{each}{signature}" for each, signature in IN_CALLS.items())
        text = (
            f'Servers: {some([*servers.usable_by(principal), *broken])}. get_functions(["NAME"]) says more of one.\n\n'
            f"Helpers, called as functions are:\n{helpers}\n\n{EXAMPLE}"
        )
        return {"function": asked, "text": text}

    def _listed(self) -> str:
        """All helpers, each with the first sentence of its description."""
        calls = {name: f"{name}{_signature(helper, types=False)}" for name, helper in self._helpers.items()}
        lines = (f"{calls.get(name, name)}: {_first(about)}" for name, about in self._about.items())
        return "\n".join(
            ['Helpers for programs (`import doorward`). More of each: get_functions(["doorward.pages"]).', *lines]
        )


def _signature(helper: Helper, *, types: bool = True) -> str:
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
