"""`doorward token`: bearer tokens of clients over HTTP. The configuration file keeps only their hashes."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import click
from doorward import ConfigError
from doorward_cli import Project, change_config, common, note, print_json, say, table

_UNITS = {"d": "days", "h": "hours", "m": "minutes", "s": "seconds"}


@click.group()
def token() -> None:
    """Bearer tokens for `serve --transport http`. A running server notices at once when they are made or revoked."""


@token.command()
@common
@click.argument("name")
@click.option(
    "--expires", metavar="TIME", help="When it ends: 90d, 12h, or a date such as 2027-01-31. Never, if not given."
)
@click.option("--endpoint", metavar="NAME", help="The only endpoint that it opens, of [endpoints].")
def new(project: Project, name: str, expires: str | None, endpoint: str | None) -> None:
    """Make a token for the principal NAME. It is shown once."""
    from doorward.serving import can_come_in

    from doorward_mcp_server.tokens.client_tokens import hashed, new_token

    if not can_come_in(name):
        raise click.UsageError(
            f"{name[:200]!r} cannot be one who comes over HTTP: 1 to 200 printable characters, not `local`, not `*`."
        )
    if endpoint and endpoint not in (known := project.load().config.endpoints):
        raise click.UsageError(f"There is no endpoint {endpoint[:100]!r}. There are: {', '.join(known) or 'none'}.")
    ends = _ends(expires) if expires else None
    made, number = new_token(), secrets.token_hex(4)
    entry = {"id": number, "hash": hashed(made)} | ({"expires": ends} if ends else {})
    entry |= {"endpoint": endpoint} if endpoint else {}
    _change(project, lambda document: _put(document, name, entry))
    if project.json:
        print_json({"id": number, "principal": name, "token": made, "expires": ends.isoformat() if ends else None})
        return
    say(made)
    end = f"ends {ends.isoformat()}" if ends else f"has no end (--expires) but by: doorward token revoke {number}"
    say(f"This is {name}'s token {number}, shown only now. It {end}", err=True)
    note("Its client sends it as `Authorization: Bearer TOKEN`.")


@token.command("list")
@common
def list_tokens(project: Project) -> None:
    """List the tokens: whose they are, and when they end."""
    found = [
        {
            "id": each.id,
            "principal": name,
            "expires": each.expires.isoformat() if each.expires else None,
            "expired": _over(each.expires),
        }
        for name, settings in project.load().config.principals.items()
        for each in settings.tokens
    ]
    if project.json:
        print_json({"tokens": found})
    elif found:
        rows = [
            (t["id"], t["principal"], f"{t['expires'] or 'never'}{' (has ended)' if t['expired'] else ''}")
            for t in found
        ]
        table(("id", "principal", "ends"), rows)
    else:
        note("There are no tokens. `doorward token new NAME` makes one.")


@token.command()
@common
@click.argument("id")
def revoke(project: Project, id: str) -> None:
    """End the token that `list` calls ID."""
    _change(project, lambda document: _remove(project, document, id))
    left = sum(len(settings.tokens) for settings in project.load().config.principals.values())
    if project.json:
        print_json({"revoked": id, "left": left})
        return
    say(f"Token {id} is revoked.")
    if not left:
        say(
            "It was the last: a server that is started now asks for no token, on loopback, unless [http.oauth] is set.",
            err=True,
        )


def _change(project: Project, change: Any) -> None:
    """Change the configuration file; all else in it stays. Raises: ConfigError if it is not valid before or after."""
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    def changed(before: str | None) -> str:
        project.load()
        try:
            document = tomlkit.parse((before or "").removeprefix("\ufeff"))
            change(document)
        except TOMLKitError as error:
            raise ConfigError(str(error), place=str(project.config), hint="Fix the TOML.") from None
        return tomlkit.dumps(document)

    change_config(project, changed)


def _put(document: Any, name: str, entry: Mapping[str, Any]) -> None:
    import tomlkit

    if "principals" not in document:
        document["principals"] = tomlkit.table(is_super_table=True)
    principals = document["principals"]
    if name not in principals:
        principals[name] = tomlkit.table(is_super_table=True)
    mine = principals[name]
    one = tomlkit.table()
    one.update(entry)
    if "tokens" not in mine:
        mine["tokens"] = tomlkit.aot()
    if isinstance(mine["tokens"], tomlkit.items.AoT):
        mine["tokens"].append(one)
    else:  # written by hand, as a list of inline tables
        inline = tomlkit.inline_table()
        inline.update(entry)
        mine["tokens"].append(inline)


def _remove(project: Project, document: Any, id: str) -> None:
    found = False
    for mine in document.get("principals", {}).values():
        for index in reversed([n for n, each in enumerate(mine.get("tokens", [])) if each.get("id") == id]):
            del mine["tokens"][index]
            found = True
        if "tokens" in mine and not mine["tokens"]:
            del mine["tokens"]
    if not found:
        known = ", ".join(_ids(document)) or "none"
        raise ConfigError(
            f"there is no token {id[:100]!r}", place=str(project.config), hint=f"Tokens in this file: {known}."
        )


def _ids(document: Any) -> Iterator[str]:
    return (str(each.get("id")) for mine in document.get("principals", {}).values() for each in mine.get("tokens", []))


def _over(expires: datetime | None) -> bool:
    return expires is not None and expires <= datetime.now(UTC)


def _ends(text: str) -> datetime:
    """When a token ends that is made now. Raises: UsageError if that is no time to come."""
    if found := re.fullmatch(r"([1-9]\d{0,5})([dhms])", text):
        return (datetime.now(UTC) + timedelta(**{_UNITS[found[2]]: int(found[1])})).replace(microsecond=0)
    try:
        ends = datetime.fromisoformat(text)
    except ValueError:
        raise click.UsageError(f"{text!r} is not a time: write 90d, 12h, or a date such as 2027-01-31.") from None
    ends = ends if ends.tzinfo else ends.replace(tzinfo=UTC)
    if _over(ends):
        raise click.UsageError(f"{text} is over already.")
    return ends
