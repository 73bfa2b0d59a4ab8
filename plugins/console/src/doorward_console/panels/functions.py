"""Functions: found as agents find them, with the reasons; one as agents read it, and what policy says of it."""

from __future__ import annotations

from doorward import Principal, UnknownName

from doorward_console.panel import Found, Question
from doorward_console.panels.policy import decided, meant


async def view(question: Question) -> Found:
    """What a search finds, for the visitor or for a principal that an operator names; or one function."""
    gateway, query = question.gateway, question.query
    principal = meant(question)
    if question.rest:
        [card] = await gateway.get_functions([question.rest], principal=principal)
        if "error" in card and not question.visitor.is_operator:
            raise UnknownName(card["error"])
        decision = await decided(gateway, question.rest, principal, {})
        return Found(
            {"function": card, "principal": str(principal), "decision": decision}, "doorward_console/function.html"
        )
    words = query.get("q", "")
    found = await gateway.search_functions(
        words, server=query.get("server") or None, limit=30, explain=True, cursor=query.get("cursor") or None,
        principal=Principal(principal),
    )  # fmt: skip
    return Found(
        {
            "functions": [{"matched": [], "summary": "", **each} for each in found["functions"]],
            "total": found.get("total", 0), "cursor": found.get("cursor", ""), "q": words,
            "server": query.get("server", ""), "principal": str(principal),
        }
    )  # fmt: skip
