"""What `doorward setup` asks besides servers and clients: where programs run, how much a run may use, which model
they may ask, which calls wait for a person, what becomes of servers that clients get later, and which APIs to add.
Enter leaves each as it is."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import PurePosixPath
from typing import Any, get_args

import click
from doorward.configuration import find_index
from doorward_cli import Project, Variables, main, put_keys, put_server, say, servers_of, write_env

_MODELS = "llm"
"""The source whose functions ask a language model, and the server that is made of it."""
_APIS = "openapi"
"""The source of APIs that have a document."""
_NOTICING = "clients"
"""The plugin that notices the servers of clients: see `noticing`."""
_CONFIRMED = {"none": [], "destructive": ["destructive"], "write": ["write", "destructive"]}
"""The classes of calls that wait for a person, by the answer."""


def summary(project: Project) -> str:
    """What holds now, in a sentence."""
    config = project.load().config
    rules = "some calls wait for a person" if getattr(config.policy, "rules", []) else "no call waits for a person"
    where = ", ".join(config.executor) or "no sandbox"
    limits: Any = config.limits  # made of the words of `Limits`
    return f"Programs run in {where}, for {limits.timeout:g} seconds and {limits.calls} calls at most; {rules}."


def ask(project: Project) -> None:
    """Ask all questions, and write what differs. Raises: ConfigError."""
    config = project.load().config
    values: dict[str, Any] = {}
    installed = [entry.name for entry in find_index().of("executor")]
    current = [name for name in config.executor if name in installed]
    if installed and (names := _executors(current, installed)) != current:
        values["executor"] = names
    if limits := _limits(config.limits):
        values["limits"] = limits
    if getattr(config.policy, "rules", []):
        say("Which calls wait for a person: `[policy] rules` say so already")
    elif find_index().named("table", "policy.rules") and (classes := _CONFIRMED[_confirmed()]):
        values["policy"] = {"rules": [{"class": classes, "then": "confirm"}]}
    if values:
        put_keys(project, values)
    _model(project)
    if _NOTICING not in config.plugins and (answer := _noticed()) != "ignored":
        taken = {"hooks": {_NOTICING: {"new_servers": "take"}}} if answer == "taken" else {}
        put_keys(project, {"plugins": [*config.plugins, _NOTICING], **taken})


def ask_apis(project: Project) -> None:
    """Ask for APIs by their documents until there are no more, and add each by `doorward add`, which asks for its
    credentials and says what is wrong with a document."""
    if not find_index().named("source", _APIS):
        return
    while spec := click.prompt(
        "An API to add: the path or URL of its OpenAPI document (Enter: no more)", default="", show_default=False
    ):
        stem = re.sub(r"\W+", "-", PurePosixPath(spec.split("?")[0]).stem).strip("-").casefold()
        name = click.prompt("What programs call it", default=stem or None)
        env_file = ["--env-file", str(project.env_file)] if project.env_file else []
        with suppress(SystemExit):
            main(["add", _APIS, "--config", str(project.config), *env_file, "--", name, spec])


def _executors(current: list[str], installed: list[str]) -> list[str]:
    text = f"Where do programs run? The first that can run one; installed: {', '.join(installed)}"
    chosen: list[str] = click.prompt(text, default=", ".join(current), value_proc=_names_among(installed))
    return chosen


def _names_among(known: Collection[str]) -> Callable[[str], list[str]]:
    def names(text: str) -> list[str]:
        found = [*dict.fromkeys(re.findall(r"[^,\s]+", text))]
        if not found or not {*found} <= {*known}:
            raise click.BadParameter(f"name one or more of {', '.join(known)}")
        return found

    return names


def _limits(current: Any) -> dict[str, Any]:
    """The limits that are to be changed."""
    seconds = click.FloatRange(0, current.max_timeout, min_open=True)
    asked = {
        "timeout": click.prompt("Seconds that a run may take", default=current.timeout, type=seconds),
        "calls": click.prompt("Calls that a run may make", default=current.calls, type=click.IntRange(1)),
        "rate": click.prompt("Runs a minute of one client", default=current.rate, type=click.IntRange(1)),
    }
    return {key: value for key, value in asked.items() if value != getattr(current, key)}


def _confirmed() -> str:
    text = "Which calls wait for a person's yes? Those that may destroy something, all that write, or none"
    answer: str = click.prompt(text, default="none", type=click.Choice([*_CONFIRMED]))
    return answer


def _noticed() -> str:
    text = "Servers that a client gets while Doorward serves: are they ignored, logged, or taken over?"
    answer: str = click.prompt(text, default="ignored", type=click.Choice(["ignored", "logged", "taken"]))
    return answer


def _model(project: Project) -> None:
    """Ask for the model, and write its server and its key. Raises: ConfigError."""
    if any(table.get("source") == _MODELS for table in servers_of(project).values()):
        return
    found = find_index().named("source", _MODELS)
    if not found:
        say(f"Programs may ask a language model after `pip install doorward[{_MODELS}]` and `doorward add {_MODELS}`")
        return
    field = found[0].point.load().Settings.model_fields["provider"].annotation
    providers = [name for each in get_args(field) for name in get_args(each)]
    text = "Which language model may programs ask? None, that of the client, or one of a provider"
    chosen = click.prompt(text, default="none", type=click.Choice(["none", "client", *providers]))
    if chosen == "none":
        return
    if chosen == "client":
        put_server(project, _MODELS, {"source": _MODELS, "sampling": "only"}, later=True)
        return
    name = f"{chosen.upper()}_API_KEY"
    variables = Variables(project.env_file or project.config.parent / ".env")
    if not variables.has(name):
        key = click.prompt(
            f"Its key, kept as {name} in .env (Enter: later)", default="", hide_input=True, show_default=False
        )
        if key:
            write_env(variables.file, {name: key})
    put_server(project, _MODELS, {"source": _MODELS, "provider": chosen, "api_key": f"${{{name}}}"}, later=True)
