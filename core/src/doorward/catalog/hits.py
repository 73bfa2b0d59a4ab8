"""A function as an answer of a search shows it: what it does, needs and gives, in few words."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from doorward.model.decisions import effect

if TYPE_CHECKING:
    from doorward.catalog.catalog import Catalog
    from doorward.model.functions import Function
    from doorward.model.search import Hit


class Hits:
    """The hits of a catalog's functions."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def shown(self, hit: Hit, *, numbered: bool) -> dict[str, Any]:
        """`{"function", "summary", …}`; what is not so is left out. `numbered`: several questions were asked."""
        function = hit.function
        summary = " ".join((function.summary or function.description)[:400].split())[:160]
        more: dict[str, Any] = {
            "answers": [*hit.answers] if numbered else [],
            "read_only": effect(function) == "read",
            "destructive": effect(function) == "destructive",
            "needs": {parameter: [*names] for parameter, names in hit.needs.items()},
            "gives": self._gives(function),
            "deprecated": function.deprecated,
            "matched": [*hit.matched],
        }
        told = {key: value for key, value in more.items() if value}
        return {"function": function.qualified, "summary": self._catalog.notes.summary(function) or summary, **told}

    def _gives(self, function: Function) -> str:
        seen = self._catalog.notes.result(function)
        returns = seen.schema if seen else function.returns
        definitions = partial(self._catalog.definition, function.server)
        return self._catalog.texts.gives(returns, definitions) if returns is not None else ""
