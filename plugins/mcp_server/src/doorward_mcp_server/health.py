"""`doorward health`: whether the HTTP server of a configuration answers, for those that watch over containers."""

from __future__ import annotations

import click
from doorward_cli import Project, common, print_json, say

PATIENCE_SECONDS = 5.0


@click.command()
@common
def health(project: Project) -> int:
    """Ask the server that this configuration has listen on this machine whether it is well. Ends with 1 if it is not.

    It needs no token, and is told nothing else.
    """
    loaded = project.load()
    from doorward_mcp_server.http.endpoint import Endpoint
    from doorward_mcp_server.settings import http_of

    http = http_of(loaded.config)
    url = Endpoint(loaded, http.host, http.port).health
    why, said = _asked(url)
    workers = said.removeprefix("ok").removeprefix(", ")  # "2 of 3 workers", of a server that has several
    if project.json:
        print_json({"ok": not why, "url": url} | ({"why": why} if why else {"workers": workers} if workers else {}))
    else:
        say(f"{url} {why or 'is well'}{f', {workers}' if workers else ''}", err=bool(why))
    return 1 if why else 0


def _asked(url: str) -> tuple[str, str]:
    """What is wrong with the server at this URL, `""` if nothing is; and what it says if it is well."""
    import http.client  # asked every minute: to import httpx2 would take half as long again
    import ssl
    from urllib.parse import urlsplit

    at = urlsplit(url)
    asked = http.client.HTTPConnection(at.hostname or "", at.port, timeout=PATIENCE_SECONDS)
    if at.scheme == "https":  # its certificate names what clients call it, and proves nothing here
        unproved = ssl._create_unverified_context()  # noqa: S323
        asked = http.client.HTTPSConnection(at.hostname or "", at.port, timeout=PATIENCE_SECONDS, context=unproved)
    try:
        asked.request("GET", at.path)
        answer = asked.getresponse()
        status, said = answer.status, answer.read(200).decode(errors="replace").strip()
    except (OSError, http.client.HTTPException) as error:
        return f"does not answer: {error or type(error).__name__}", ""
    finally:
        asked.close()
    return ("", said) if status == http.client.OK else (f"answers {status}", "")
