"""The command `doorward demo`. Everything else is imported when it is invoked."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from doorward_demo.told import Told


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object with the data of each step.")
@click.option("--quiet", is_flag=True, help="Show no steps, only what they came to.")
def demo(as_json: bool, quiet: bool) -> None:
    """Watch an MCP client use an API through the door, and a thief fail.

    Starts a small HTTP API on loopback, compiles it, serves it with `doorward serve`, and plays an agent that searches,
    runs a program and runs it again. Needs no network and leaves nothing behind. Exit code 1 if any step does not do
    what it should.
    """
    import asyncio
    import contextlib
    import json
    import sys

    from rich.console import Console

    from doorward_demo.show import Screen
    from doorward_demo.told import Told

    screen = Screen(Console())
    told = Told((lambda step: None) if as_json or quiet else screen.step)
    try:
        with contextlib.redirect_stdout(sys.stderr if as_json else sys.stdout):  # the log must not mix with the JSON
            asyncio.run(_play(told))
    except asyncio.CancelledError:
        raise SystemExit(143) from None
    if as_json:
        click.echo(json.dumps(told.as_dict(), ensure_ascii=False))
    else:
        screen.end(told)
    raise SystemExit(0 if told.ok else 1)


async def _play(told: Told) -> None:
    """Play the story to its end, or to the error that ends it. SIGTERM cleans up, as Ctrl-C does."""
    import asyncio
    import contextlib
    import signal

    from doorward_demo.stage import Failed, stage
    from doorward_demo.story import play

    task = asyncio.current_task()
    assert task is not None
    with contextlib.suppress(NotImplementedError):  # Windows
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    try:
        with stage() as place:
            await play(told, place)
    except Exception as error:
        told.error = str(error) if isinstance(error, Failed) else f"{type(error).__name__}: {error}"
