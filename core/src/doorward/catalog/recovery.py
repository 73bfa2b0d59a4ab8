"""The catalog's file around a compile: before it, a broken file is put aside; after it, the new one is read."""

from __future__ import annotations

from collections.abc import Collection

import anyio.to_thread

from doorward.catalog.catalog import Catalog
from doorward.host.logs import log
from doorward.model.errors import StateError


async def look(catalog: Catalog, servers: Collection[str] | None) -> None:
    """Before a compile: put the catalog aside if it is broken, and forget all servers but these (`None`: none)."""
    try:
        await anyio.to_thread.run_sync(catalog.check)
        if servers is not None and (gone := catalog.reports().keys() - set(servers)):
            await anyio.to_thread.run_sync(catalog.drop, gone)
    except StateError as error:  # reported again for each server that cannot be stored
        log.warning("catalog_not_checked", why=str(error), hint=error.hint)


async def turn(catalog: Catalog, servers: Collection[str]) -> bool:
    """After a compile: read the file that is stored now, unless it lacks one of these servers that the present one has.

    Returns: whether the file that is stored now is the one that is read."""
    if catalog.lost:
        try:
            catalog.turn_to(await anyio.to_thread.run_sync(catalog.there), servers)
        except StateError as error:
            log.warning("catalog_not_read", why=str(error), hint=error.hint)
    catalog.refresh()
    return not catalog.lost
