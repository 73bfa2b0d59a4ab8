"""`doorward programs`: the saved programs, for the operator and for schedules without a model."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource
from doorward import LOCAL, ConfigError, DoorwardError, Failure, Gateway, InvalidArguments, Outcome
from doorward.administration import bind_arguments
from doorward.recording import RECORDINGS, RecordedCall
from doorward.sandboxing import CachedProgram, json_type
from doorward.texts import validator
from doorward_cli import Project, common, note, print_json, say, table, tell

from doorward_cache_sqlite.command import with_kept
from doorward_cache_sqlite.kept_programs import KeptPrograms
from doorward_cache_sqlite.saved_programs import FOLDER, Record


@click.group()
def programs() -> None:
    """Saved programs: scripts in the folder `programs` beside the configuration; see `doorward save`."""


@programs.command("list")
@common
def list_(project: Project) -> None:
    """List them, and say which no longer fit the functions that they use."""

    async def read(kept: KeptPrograms, gate: Gateway) -> list[dict[str, Any]]:
        found = []
        for name in kept.saved.names():
            try:
                program = kept.saved.require(name, LOCAL)
            except ConfigError as error:
                found.append({"name": name, "summary": "", "params": {}, "state": _text(error)})
                continue
            found.append({"name": name, "summary": program.description, "params": {**program.params},
                          "state": _state(kept, program)})  # fmt: skip
        return found

    found = with_kept(project, read, ready=True)
    if project.json:
        print_json({"programs": found})
    elif found:
        table(["name", "state", "parameters", "about"], [
            (each["name"], each["state"], " ".join(each["params"]), each["summary"]) for each in found
        ])  # fmt: skip
    else:
        note("no program is saved: doorward save CACHE_ID NAME saves one")


@programs.command(
    add_help_option=False, context_settings={"ignore_unknown_options": True, "allow_interspersed_args": True}
)
@common
@click.argument("name", required=False)
@click.argument("words", nargs=-1, type=click.UNPROCESSED)
def run(project: Project, name: str | None, words: tuple[str, ...]) -> int:
    """Run the saved program NAME, or the script at this path; NAME --help shows its parameters.

    A script in a folder `programs` runs by the configuration beside that folder, if --config names no other. Ends as
    `doorward run` does.
    """
    if name is None or name == "--help":
        click.echo(
            "Usage: doorward programs run NAME [PARAMETERS]…\n\n  NAME --help shows the parameters of a program."
        )
        return 0 if name else 2
    script = Path(name).resolve() if name.endswith(".py") else None
    if script is not None:
        name, project = script.stem, _project_of(script, project)
    program = with_kept(project, partial(_found, name, script))
    parsed: list[dict[str, Any]] = []
    asked = click.Command(
        name, params=[_option(each, value) for each, value in program.params.items()],
        callback=lambda **values: parsed.append(values), help=program.description,
    )  # fmt: skip
    asked.main([*words], prog_name=f"doorward programs run {name}", standalone_mode=False)
    if not parsed:  # its help is shown
        return 0
    given = {key: value for key, value in zip(program.params, parsed[0].values(), strict=True) if value is not None}

    async def execute(kept: KeptPrograms, gate: Gateway) -> Outcome:
        shown = gate.limits.output_bytes
        if script in (None, kept.saved.file(name)):
            return await gate.run_cached(name, given, show_bytes=shown)
        return await gate.execute(program.code, params=given, description=program.description, show_bytes=shown)

    return tell(project, with_kept(project, execute, ready=True))


@programs.command()
@common
@click.argument("names", nargs=-1)
@click.option("--accept", is_flag=True, help="Where the test passes, take the functions as they are now.")
@click.option("--record", is_flag=True, help="Run them now, which makes their calls, and test them on these answers.")
def test(project: Project, names: tuple[str, ...], accept: bool, record: bool) -> int:
    """Run the programs NAMES, or all, on their recorded answers: nothing is sent. Ends with 1 if one fails."""

    async def check(kept: KeptPrograms, gate: Gateway) -> dict[str, str]:
        wrong = {}
        for name in names or kept.saved.names():
            try:
                program = kept.saved.require(name, LOCAL)
            except ConfigError as error:
                wrong[name] = _text(error)
                continue
            wrong[name] = await _recorded(kept, gate, program) if record else ""
            wrong[name] = wrong[name] or await _failure(kept, gate, program, accept=accept)
            if accept and not wrong[name]:
                kept.saved.accept(name)
        return wrong

    wrong = with_kept(project, check, ready=True, record=record)
    if project.json:
        print_json({"programs": wrong})
    else:
        for name, why in wrong.items():
            say(f"{name}: {why or 'passes'}")
    return 1 if any(wrong.values()) else 0


@programs.command()
@common
@click.argument("names", nargs=-1, required=True)
def forget(project: Project, names: tuple[str, ...]) -> None:
    """Remove the saved programs NAMES: their scripts and their recorded tests."""

    async def remove(kept: KeptPrograms, gate: Gateway) -> list[str]:
        for name in names:
            with suppress(ConfigError):  # what cannot be read can be removed
                kept.saved.require(name, LOCAL)
        for name in names:
            kept.saved.remove(name)
        return [*names]

    removed = with_kept(project, remove)
    if project.json:
        print_json({"forgotten": removed})
    else:
        say("\n".join(f"{name} is forgotten" for name in removed))


@click.command()
@common
@click.argument("name")
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
def skill(project: Project, name: str, folder: Path) -> None:
    """Write the saved program NAME as an Agent Skill: FOLDER/NAME/SKILL.md and its script."""
    from doorward_cache_sqlite.agent_skill import write_skill

    program = with_kept(project, partial(_required, name))
    written = write_skill(folder, program)
    if project.json:
        print_json({"skill": str(written)})
    else:
        say(f"wrote {written}")


def _project_of(script: Path, project: Project) -> Project:
    """The project by whose configuration a script runs: what the command names, or what lies beside its folder."""
    beside = script.parent.parent / "doorward.toml"
    named = click.get_current_context().get_parameter_source("config") is not ParameterSource.DEFAULT
    return project if named or script.parent.name != FOLDER or not beside.is_file() else replace(project, config=beside)


async def _found(name: str, script: Path | None, kept: KeptPrograms, gate: Gateway) -> CachedProgram:
    return kept.saved.require(name, LOCAL) if script is None else kept.saved.read(script, LOCAL)


async def _required(name: str, kept: KeptPrograms, gate: Gateway) -> CachedProgram:
    return kept.saved.require(name, LOCAL)


def _state(kept: KeptPrograms, program: CachedProgram) -> str:
    gone, changed = kept.breaks(program)
    wrong = [f"{', '.join(gone)} gone"] * bool(gone) + [f"{', '.join(changed)} changed"] * bool(changed)
    return "; ".join(wrong) or "ready"


async def _recorded(kept: KeptPrograms, gate: Gateway, program: CachedProgram) -> str:
    """Run a program, and store its answers for its test with the functions as they are now. Returns: why it fails."""
    recordings = gate.services[RECORDINGS]
    outcome = await gate.execute(program.code, functions=program.functions, description=program.description)
    if outcome.error is not None:
        return _text(outcome.error)
    uses = {call["function"]: kept.saved.hash(call["function"]) for call in outcome.calls}
    recording = await recordings.recording(program.code, LOCAL)
    kept.saved.save(program.cache_id, program.code, Record(uses, program.functions), recording)
    return ""


async def _failure(kept: KeptPrograms, gate: Gateway, program: CachedProgram, *, accept: bool) -> str:
    """Why the test of a program fails; "" if it passes. To `accept` the functions as they are now, the recorded calls
    and answers must fit these."""
    unfit: list[str] = []
    recordings = gate.services.get(RECORDINGS)
    try:
        recording = kept.saved.recording(program.cache_id)
        if recording is None or recordings is None:
            return f"no run of it is recorded: doorward programs test {program.cache_id} --record makes and records one"
        calls: list[RecordedCall] = []
        outcome, recorded = await recordings.replay(recording, program.code, calls.append)
        for call in calls if accept else ():
            unfit += _unfit(gate, call)
    except DoorwardError as error:
        return _text(error)
    if outcome.error is not None:
        return _text(outcome.error)
    if recorded is not None and outcome.value != recorded.value:
        return "it gives another value than the one that was recorded; --record records it anew if that is right"
    return unfit[0] if unfit else ""


def _unfit(gate: Gateway, call: RecordedCall) -> Iterator[str]:
    """What of a recorded call its function does not take or give any more. Raises: DoorwardError."""
    if call.function.startswith("doorward."):  # a helper
        return
    function = gate.broker.functions.find(call.function, LOCAL)
    try:
        bind_arguments(function, call.args, call.kwargs, gate.catalog)
    except InvalidArguments as error:
        if call.error is None:
            yield _text(error)
    returns = function.returns
    if returns is not None and call.reply is not None:
        checks = validator(returns, partial(gate.catalog.definition, function.server))
        for wrong in checks.iter_errors(call.reply.value) if checks else ():
            at = "".join(f"[{key!r}]" for key in wrong.instance_path)
            yield f"{call.function} gives something else now: its recorded answer{at}: {wrong.message[:200]}"


def _text(error: DoorwardError | Failure) -> str:
    return f"{error.message}; {error.hint}" if error.hint else error.message


def _option(name: str, default: Any) -> click.Option:
    """The option of a parameter, of the type of its default."""
    kind = json_type(default)
    flag, shown = f"--{name.replace('_', '-')}", json.dumps(default, ensure_ascii=False)
    if kind == "boolean":
        return click.Option([f"{flag}/--no-{flag[2:]}", name], default=None, help=f"[default: {shown}]")
    types: Mapping[str, Any] = {"string": click.STRING, "integer": click.INT, "number": click.FLOAT}
    return click.Option(
        [flag, name], type=types.get(kind, json.loads), metavar=kind.upper() if kind != "null" else "JSON",
        help=f"[default: {shown if len(shown) <= 100 else f'{shown[:100]}…'}]",
    )  # fmt: skip
