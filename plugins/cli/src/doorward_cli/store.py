"""`doorward store`: what an operator may have forgotten of the store."""

from __future__ import annotations

import anyio
import click

from doorward_cli.shared import Project, common, print_json, say


@click.group()
def store() -> None:
    """Have something forgotten that is stored."""


@store.command()
@common
@click.argument("table")
@click.argument("key", required=False)
def forget(project: Project, table: str, key: str | None) -> None:
    """Delete the records of a TABLE, or that of one KEY: `withheld` lets principals run programs again whose answers
    held credentials, `budgets` has all budgets begin anew, "model use" the quotas of models. Restart what serves: it
    remembers some of them.
    """
    deleted = anyio.run(_forget, project, table, key)
    if project.json:
        print_json({"deleted": deleted})
    else:
        say(f"{deleted} records of {table} are deleted")


async def _forget(project: Project, table: str, key: str | None) -> int:
    """Delete records. Returns: how many. Raises: StateError."""
    from doorward.administration import open_store
    from doorward.engines import Delete

    deleted = 0
    async with open_store(project.load()) as store:
        if key is not None:
            found = await store.get(table, key)
            await store.commit(Delete(table, key))
            return int(found is not None)
        while page := await store.scan(table, limit=500):
            await store.commit(*(Delete(table, record.key) for record in page))
            deleted += len(page)
    return deleted
