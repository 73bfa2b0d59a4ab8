"""`doorward store`: what is stored is counted, copied to another engine, or forgotten."""

from __future__ import annotations

import anyio
import click

from doorward_cli.shared import Project, common, print_json, say


@click.group()
def store() -> None:
    """Count what is stored, copy it to another engine, or have it forgotten."""


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


@store.command()
@common
@click.argument("name", default="")
def check(project: Project, name: str) -> None:
    """Read all that is stored, and count it: in the store that is configured, or that called NAME. Its tables are
    brought to the version of this Doorward. It is an error if nothing is stored there.
    """
    tell_counts(project, anyio.run(_check, project, name))


async def _check(project: Project, name: str) -> dict[str, int]:
    """How many rows there are. Raises: DoorwardError."""
    from doorward import StateError
    from doorward.administration import open_store

    from doorward_cli.store_copy import counted, read

    async with open_store(project.load(), name) as store:
        if not store.lasts:
            raise StateError(
                "no store is installed and configured that outlasts this process",
                hint="Name one as `store`, or install its extra: `doorward doctor` says which.",
            )
        counts = counted(await read(store))
    if not any(counts.values()):  # to read makes no store, so one that is not there is empty
        raise StateError(
            f"nothing is stored in the store{f' {name!r}' if name else ''}: it is not there, or another one is meant",
            hint="Look at [stores] and `state` in doorward.toml. A store is made when something is stored first.",
        )
    return counts


@store.command()
@common
@click.argument("source", metavar="FROM")
@click.argument("target", metavar="TO")
def copy(project: Project, source: str, target: str) -> None:
    """Copy all that is stored, for example: doorward store copy sqlite postgres. The settings of both are read from
    `[stores.NAME]`. End all that serves before. TO may hold no other rows; what it has already is not copied again, so
    a copy that broke off may be repeated. In the end both are read, and compared row by row.
    """
    tell_counts(project, anyio.run(_copy, project, source, target))


async def _copy(project: Project, source: str, target: str) -> dict[str, int]:
    """How many rows both have in the end. Raises: DoorwardError."""
    from doorward.administration import open_store

    from doorward_cli.store_copy import copied

    if source == target:
        raise click.UsageError("FROM and TO are the same store")
    loaded = project.load()
    async with open_store(loaded, source) as one, open_store(loaded, target) as other:
        if not other.lasts:
            raise click.UsageError(f"{target} ends with this process")
        return await copied(one, other)


def tell_counts(project: Project, counts: dict[str, int]) -> None:
    if project.json:
        print_json(counts)
    else:
        for what, count in counts.items():
            say(f"{count:>8} {what}")
        say(f"{sum(counts.values()):>8} in all")


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
