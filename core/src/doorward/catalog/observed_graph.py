"""Who gives what others need, where no schema describes the results but calls have shown what they are like."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING

import anyio.to_thread

from doorward.catalog.function_codec import as_json
from doorward.catalog.schema_inference import with_observed
from doorward.graph.producers import edges
from doorward.graph.stored_graph import as_stored

if TYPE_CHECKING:
    from doorward.catalog.catalog import Catalog

MAX_FUNCTIONS = 300
"""The graph of a server of more functions is made anew only by its next compile: everybody waits for this one."""


async def renew_graphs(catalog: Catalog, servers: Iterable[str]) -> None:
    """Store the graphs of servers whose observed results have changed. Raises: StateError."""
    for server in servers:
        report = catalog.report(server)
        if report is not None and report.functions <= MAX_FUNCTIONS:
            functions = with_observed(catalog.functions(server), catalog.observation)
            graph = as_json(as_stored(edges(functions, partial(catalog.definition, server))))
            await anyio.to_thread.run_sync(catalog.replace_graph, server, graph)
