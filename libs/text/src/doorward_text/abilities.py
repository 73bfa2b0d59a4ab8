"""What can be done with a gateway, in a paragraph, and what its executors can, in a line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from doorward.administration import some
from doorward.texts import JSON, is_script

if TYPE_CHECKING:
    from doorward import Gateway

MAX_PACKAGES_NAMED = 20
"""Packages named in a line of text; `Gateway.list_servers` names all."""

_CALLS = (
    "`import SERVER` and call SERVER.FUNCTION(name=value)",
    '`import * as SERVER from "SERVER"` and `await SERVER.FUNCTION({ name: value })`',
)
"""How Python calls a function, and how a module of JavaScript does."""


def capabilities(gateway: Gateway, principal: str, language: str = "") -> str:
    """What a principal can do here, in programs of a language or by single calls. Without one, in that of all texts."""
    servers, limits = some(gateway.servers.names(principal)), gateway.admission.limits(principal)
    language = language or gateway.languages.of_texts(principal)
    if language == JSON:
        return (
            f"What can be called are the functions of these servers: {servers}. search_functions finds them, "
            f"get_functions shows one, call_function calls it, for up to {limits.timeout:g} s. "
            'get_functions(["doorward"]) lists helpers: all pages of a function, resources and prompts.'
        )
    network = any(executor.get("network") for executor in gateway.executors.describe())
    return (
        f"Programs run in a sandbox without {'' if network else 'network and '}credentials "
        f"({executors_in_brief(gateway) or 'no executor is installed'}). "
        f"What they may call are the functions of these servers: {servers}. "
        f"{_CALLS[is_script(language)]}; find functions with search, see one with describe. "
        f"Limits of a run: {limits.timeout:g} s, {limits.calls} calls, {limits.output_bytes} "
        f"bytes of output. "
        "The value of a program is `result`, or its last expression. "
        'describe("doorward") lists the helpers of `import doorward`: pages, files, errors.'
    )


def executors_in_brief(gateway: Gateway) -> str:
    """The abilities of each executor, in a few words; "" if there is none."""
    return "; ".join(f"{e['executor']}: {e.get('broken') or _told(e)}" for e in gateway.executors.describe())


def _told(executor: Mapping[str, Any]) -> str:
    packages = executor["packages"]
    words = [executor["language"]]
    if packages:
        words.append(
            f"packages: {', '.join(packages[:MAX_PACKAGES_NAMED])}{' …' if len(packages) > MAX_PACKAGES_NAMED else ''}"
        )
    if executor["modules"]:
        words.append(f"modules: {', '.join(executor['modules'])}")
    if executor["shell"]:
        words.append("a shell")
    if not executor["files"]:
        words.append("no files")
    if executor["network"]:
        words.append("with network")
    return ", ".join(words)
