"""The helpers that make sense without a program: each is called as a function is, by its name and JSON arguments."""

from __future__ import annotations

from typing import Any

from doorward.program_api.helper_cards import MODULE

IN_CALLS = {
    "items": "({ function: string; arguments?: object; most?: integer }): any[]  // what is in all pages of a function",
    "pages": "({ function: string; arguments?: object; most?: integer }): any[]  // the answers of all pages of one",
    "reply": "({ function: string; arguments?: object }): { value, status, headers }  // a whole HTTP answer",
    "list_resources": "({ server: string }): any[]  // the resources of an MCP server",
    "read_resource": "({ server: string; uri: string }): any",
    "list_prompts": "({ server: string }): any[]  // the prompts of an MCP server",
    "get_prompt": "({ server: string; name: string; arguments?: object }): any",
}

_EXAMPLE = (
    'call_function({"function": "doorward.items", "arguments": '
    '{"function": "server.list_things", "arguments": {"state": "open"}, "most": 200}})'
)


def card(asked: str, servers: str) -> dict[str, Any] | None:
    """The card of all helpers, and of the servers that there are: no other tool tells these. `None` if something else
    was asked for."""
    module, _, name = asked.partition(".")
    if module != MODULE:
        return None
    if name and name not in IN_CALLS:
        return {"function": asked[:200], "error": f"there is no {asked[:200]}. There are: {names()}."}
    helpers = "\n".join(f"{MODULE}.{each}{signature}" for each, signature in IN_CALLS.items())
    about = f'Servers: {servers}. get_functions(["NAME"]) says more of one.'
    return {"function": asked, "text": f"{about}\n\nHelpers, called as functions are:\n{helpers}\n\n{_EXAMPLE}"}


def names() -> str:
    """The helpers, in a line."""
    return ", ".join(f"{MODULE}.{name}" for name in IN_CALLS)
