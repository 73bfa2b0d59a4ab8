"""What is done with a catalog's file around a compile: a broken one is put aside, and the one that is in its place
read."""

from __future__ import annotations

from collections.abc import Collection

import anyio.to_thread

from doorward.catalog.catalog import Catalog
from doorward.host.logs import log
from doorward.model.errors import StateError


async def look(catalog: Catalog, servers: Collection[str] | None) -> None:
    """Before a compile: put the catalog aside if it is broken; forget all but these servers, if they are all that there
    are."""
    try:
        await anyio.to_thread.run_sync(catalog.check)
        if servers is not None and (gone := catalog.reports().keys() - set(servers)):
            await anyio.to_thread.run_sync(catalog.drop, gone)
    except StateError as error:  # told again of each server that cannot be stored
        log.warning("catalog_not_checked", why=str(error), hint=error.hint)


async def turn(catalog: Catalog, servers: Collection[str]) -> bool:
    """After a compile: read the file that is at its place, once it has all of these servers that the one that is read
    has.

    Returns: whether it is read now."""
    if catalog.lost:
        try:
            catalog.turn_to(await anyio.to_thread.run_sync(catalog.there), servers)
        except StateError as error:
            log.warning("catalog_not_read", why=str(error), hint=error.hint)
    catalog.refresh()
    return not catalog.lost
