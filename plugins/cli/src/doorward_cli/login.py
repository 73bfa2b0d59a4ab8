"""`doorward login`: logs a person in to a server, in the way of its auth plugin."""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

import anyio
import click
from doorward import LOCAL, ConfigError
from doorward.abilities import SupportsLogin, SupportsLogout

from doorward_cli import logs
from doorward_cli.compile import counted
from doorward_cli.completion import complete_servers
from doorward_cli.shared import Project, common, print_json, say


@click.command()
@common
@click.argument("server", shell_complete=complete_servers)
@click.option("--no-browser", is_flag=True, help="Print the address to visit, and open nothing.")
@click.option("--paste", is_flag=True, help="The browser is on another machine: paste the last address it shows.")
@click.option(
    "--principal", default=LOCAL, show_default=True, help="Whose login it is, at a server that is per_principal."
)
@click.option("--remove", is_flag=True, help="Log out: forget the stored login.")
def login(project: Project, server: str, no_browser: bool, paste: bool, principal: str, remove: bool) -> None:
    """Log in to SERVER, in a browser, and compile it. The login is kept for this user and configuration, and renewed
    by itself."""
    anyio.run(_login, project, server, Terminal(browser=not (no_browser or paste), paste=paste), principal, remove)


async def _login(project: Project, server: str, terminal: Terminal, principal: str, remove: bool) -> None:
    async with project.gateway(ready=False) as gate:
        auths = gate.servers.auths_of(server, principal)
        if remove and (known := [auth for auth in auths if isinstance(auth, SupportsLogout)]):
            said = await known[0].logout()
        elif not remove and (able := [auth for auth in auths if isinstance(auth, SupportsLogin)]):
            said = await able[0].login(terminal)
        else:
            hint = "Its credentials stand in the settings."
            raise ConfigError("this type of auth has no login", place=f"[servers.{server}] auth", hint=hint)
        said = logs.scrub(said)
        report = None if remove else await gate.compiler.compile_one(server.partition("@")[0])
        wrong = gate.servers.broken.get(server) if not (remove or report) else None
    if project.json:
        compiled = {"functions": report.functions} if report else {"error": str(wrong)} if wrong else {}
        print_json({"server": server, "message": said, **compiled})
        return
    say(f"{server}: {said}")
    if report:
        say(f"{server}: {counted(report.functions)}")
    if wrong:
        say(f"warning: {server} could not be compiled: {wrong}", err=True)


class Terminal:
    """A `LoginPrompt` for the person at this terminal. It writes to standard error, since the command's answer is on
    standard output."""

    def __init__(self, *, browser: bool, paste: bool) -> None:
        self._browser = browser and _has_display()
        self._paste = paste

    def tell(self, text: str) -> None:
        say(logs.scrub(text), err=True)

    async def open(self, url: str) -> None:
        import webbrowser

        if self._browser and await anyio.to_thread.run_sync(webbrowser.open, url):
            self.tell(f"Go on in the browser. If it does not open, visit:\n{url}")
        else:
            self.tell(f"Visit:\n{url}")

    async def ask(self, question: str) -> str | None:
        if not self._paste:
            return None
        self.tell(question)
        # This blocks the event loop, so Ctrl-C has to interrupt the reading itself.
        before: Any = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            return sys.stdin.readline().strip()
        finally:
            signal.signal(signal.SIGINT, before)


def _has_display() -> bool:
    """Whether a browser can open a window. A browser in the terminal would be in the way."""
    return sys.platform in ("darwin", "win32") or any(
        os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")
    )
