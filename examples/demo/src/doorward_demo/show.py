"""Shows the demo on a terminal."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.rule import Rule
from rich.syntax import Syntax
from rich.table import Table

from doorward_demo.told import Step, Told

LINES = 16
"""Lines of an answer that are shown; the agent sees all."""


class Screen:
    """Prints each step when it is over, and the totals at the end."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._number = 0

    def step(self, step: Step) -> None:
        self._number += 1
        self._console.print(
            Rule(f"[bold]{self._number}  {escape(step.title)}[/]  [dim]{step.ms:,.0f} ms", align="left", style="cyan")
        )
        if isinstance(step.sent, dict) and "tool" in step.sent:
            self._sent(step.sent["tool"], dict(step.sent["arguments"]))
        if step.seen:
            self._console.print(Padding(escape(_cut(step.seen)), (0, 0, 0, 2)), soft_wrap=False)
        for check, holds in step.checks.items():
            self._console.print(f"  [green]✓[/] {escape(check)}" if holds else f"  [bold red]✗ {escape(check)}[/]")
        self._console.print()

    def _sent(self, tool: str, arguments: dict[str, Any]) -> None:
        code = arguments.get("code")
        given = ", ".join(f"{name}=…" if name == "code" else f"{name}={value!r}" for name, value in arguments.items())
        self._console.print(Padding(f"[yellow]→ {tool}[/]({escape(given)})", (0, 0, 0, 2)))
        if code:
            shown = Syntax(code.rstrip(), "python", theme="ansi_dark", background_color="default", word_wrap=True)
            self._console.print(Padding(shown, (0, 0, 0, 4)))  # in the terminal's own colours, on light and dark
        self._console.print("  [yellow]←[/]")

    def end(self, told: Told) -> None:
        if told.tokens:
            table = Table("tokens (estimated: bytes / 4)", "", title=None, show_header=True, box=None, padding=(0, 2))
            for side, counted in told.tokens.items():
                table.add_row(f"[bold]{side.replace('_', ' ')}[/]", f"[bold]{counted['all']:,}[/]")
                for name, n in counted.items():
                    if name != "all":
                        table.add_row(f"  {name}", f"{n:,}")
            table.columns[1].justify = "right"
            self._console.print(table)
            self._console.print(
                "  [dim]Doorward's tools and instructions stay as they are with 10,000 functions; definitions grow "
                "with each.[/]\n"
            )
        for failed in told.failed:
            self._console.print(f"[bold red]✗ {escape(failed)}[/]")
        times = ", ".join(f"{name.replace('_', ' ')} {seconds:g} s" for name, seconds in told.seconds.items())
        self._console.print(
            f"{'[bold green]The demo did what it should.[/]' if told.ok else '[bold red]The demo failed.[/]'} "
            f"[dim]{times}[/]"
        )


def _cut(text: str) -> str:
    lines = text.strip().splitlines()
    return "\n".join(lines[:LINES] + ([f"… {len(lines) - LINES} more lines"] if len(lines) > LINES else []))
