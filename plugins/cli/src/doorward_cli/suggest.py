"""How `add` and `doctor` use the `auth` that a source suggests for its server."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import anyio
from doorward import MissingSecret, ServerError, Suggestion
from doorward.configuration import module_name

from doorward_cli import auth_suggestions
from doorward_cli.compile import compile_now
from doorward_cli.servers import lines, put_server
from doorward_cli.shared import Project

if TYPE_CHECKING:
    from doorward import Gateway
    from doorward.administration import Report


@dataclass(frozen=True, slots=True)
class AuthAdvice:
    """The suggestions for a server, the best first. It was `written` into the configuration or stands `aside` there, as
    a comment; or neither, because no function needs credentials.

    `closed`: the number of functions that need credentials; `None` if the server refused before it listed any.
    """

    server: str
    env: str
    closed: int | None
    suggestions: list[Suggestion]

    @property
    def written(self) -> bool:
        return self.closed != 0 and not self.suggestions[0].elsewhere

    @property
    def aside(self) -> bool:
        return self.closed != 0 and not self.written

    def as_dict(self) -> dict[str, Any]:
        """For `--json`."""
        first, *others = [
            {
                "auth": auth_suggestions.value(s),
                "says": s.says,
                "serves": s.serves,
                "variables": auth_suggestions.variables(s.auth),
            }
            | ({"elsewhere": list(s.elsewhere)} if s.elsewhere else {})
            for s in self.suggestions
        ]
        return {"written": self.written, "closed": self.closed, **first, "others": others}

    def told(self) -> list[str]:
        """In sentences: what the server wants, what was written, what to do, and the other suggestions."""
        first, *others = self.suggestions
        place = f"[servers.{self.server}]"
        if self.closed == 0:
            said = [
                f"auth: no function says that it needs credentials, but they may be given. To do so, add to {place}:"
            ]
            return said + [f"  {line_of(each)}  ({each.says})" for each in self.suggestions]
        wants = "it wants credentials" if self.closed is None else counts(self.closed, first)
        said = [f"auth: {wants}: {first.says}"]
        if self.written:
            said.append(f"  written to {place}: {line_of(first)}")
        else:
            elsewhere = " and ".join(first.elsewhere)
            said += [
                f"  its document would have secrets sent to {elsewhere}, which is not where the API is;",
                f"  so it is a comment in {place}. If that is the right place, take its # away: {line_of(first)}",
            ]
        if names := auth_suggestions.variables(first.auth):
            said.append(f"  set {', '.join(names)} in {self.env}")
        said += [f"  or instead: {line_of(each)}  ({each.says})" for each in others]
        return said


def compile_and_suggest(
    project: Project, name: str, table: Mapping[str, Any], *, suggest: bool = True
) -> tuple[int, bool]:
    """Compile the server that was just written, and add the `auth` that its source suggests, if that is wanted.
    Returns: the exit code, and whether the server is of use: as it is, or once it has its credentials."""
    told: list[AuthAdvice] = []
    lacking = False

    def advise(gate: Gateway) -> AuthAdvice | None:
        nonlocal lacking
        report, error = gate.catalog.report(module_name(name)), gate.servers.broken.get(name)
        lacking = isinstance(error, MissingSecret) or "auth" in table
        if not suggest or "auth" in table:
            return None
        found = error.auth if isinstance(error, ServerError) else () if error else report or ()
        suggestions = auth_suggestions.usable(found, gate.plugins)
        if not suggestions:
            return None
        closed = None if error or report is None else report.closed
        advice = AuthAdvice(name, str(project.env_file or project.config.with_name(".env")), closed, suggestions)
        if advice.written or advice.aside:
            auth = {"auth": auth_suggestions.value(suggestions[0])}
            written, aside = (auth, None) if advice.written else ({}, auth)
            put_server(project, name, {**table, **written}, replace=True, aside=aside)
        told.append(advice)
        return advice

    code = compile_now(project, (name,), check=True, advise=advise)
    if code == 0 and told and told[0].written:
        anyio.run(_again, project, name)
    return code, code == 0 or lacking or bool(told)


async def _again(project: Project, name: str) -> None:
    """Compile the server with its auth, so that the catalog has it as configured. If it lacks anything, its users are
    told."""
    async with project.gateway(ready=False) as gate:
        await gate.compiler.compile([name])


def of_doctor(gate: Gateway, name: str, report: Report) -> list[tuple[str, str]]:
    """Warnings about the `auth` of a server or its absence, each with advice."""
    auth = gate.servers.configured[name].settings.auth
    suggestions = auth_suggestions.usable(report, gate.plugins)
    if auth:
        mismatches = auth_suggestions.mismatches(auth, suggestions)
        return [(f"server {name}: {why}", "See whether calls work.") for why in mismatches]
    if not report.closed:
        return []
    if not suggestions:
        what = f"server {name} has no auth, and its functions need credentials"
        return [(what, "None of the types of auth here serves it.")]
    first, *_ = suggestions
    add = "Add"
    if first.elsewhere:
        add = f"Its document would have secrets sent to {' and '.join(first.elsewhere)}. If that is right, add"
    what = f"server {name} has no auth: {counts(report.closed, first)}"
    return [(what, f"{add} to [servers.{name}]: {line_of(first)}")]


def counts(closed: int, suggestion: Suggestion) -> str:
    """How many functions need credentials, and how many a suggestion serves."""
    needing = f"{closed} function{'s need' if closed > 1 else ' needs'} credentials"
    return needing if suggestion.serves == closed else f"{needing}, {suggestion.serves} of them these"


def line_of(suggestion: Suggestion) -> str:
    return lines({"auth": auth_suggestions.value(suggestion)}).strip()
