"""`doorward habits`: programs that came again and again, alike except for their literals, as one to be saved."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import click
from doorward import LOCAL, ConfigError, DoorwardError, Gateway, InvalidProgram, Unsupported
from doorward.recording import RECORDINGS, RecordedProgram
from doorward_cli import Project, common, note, print_json, table

from doorward_cache_sqlite.alike import shape_of, with_parameters
from doorward_cache_sqlite.command import with_kept
from doorward_cache_sqlite.kept_programs import KeptPrograms
from doorward_cache_sqlite.saved_programs import PYTHON, Record
from doorward_cache_sqlite.saving import check_somebody_to_ask, show_script
from doorward_cache_sqlite.scripts import script


@dataclass(frozen=True, slots=True)
class Habit:
    """Programs of one principal that are alike, the newest first, and the script that they would become."""

    name: str
    programs: Sequence[RecordedProgram]
    script: str
    params: Sequence[str]


@click.command()
@common
@click.option(
    "--least", type=click.IntRange(2), default=3, show_default=True, help="How often a program came at least."
)
@click.option("--save", "wanted", metavar="NAME", help="Save the habit of this name, once it was shown.")
@click.option("--as", "name", metavar="NAME", help="Save it under this name.")
@click.option("--yes", is_flag=True, help="Do not ask: save it.")
def habits(project: Project, least: int, wanted: str | None, name: str | None, yes: bool) -> int:
    """Propose what came again and again: programs that are alike except for their literals, as one saved program whose
    parameters are the literals that change.

    It reads the kept programs, and the runs in the journal ([runs] durable = "always"). Without --save nothing is
    changed. A habit that is saved already is not proposed.
    """

    async def work(kept: KeptPrograms, gate: Gateway) -> tuple[list[Habit], str | None]:
        found = await _found(kept, gate, least)
        if wanted is None:
            return found, None
        habit = next((each for each in found if each.name == wanted), None)
        if habit is None:
            raise click.UsageError(f"there is no habit {wanted!r}: doorward habits lists them")
        check_somebody_to_ask(project, yes=yes)
        return [habit], await _save(project, kept, gate, habit, name or wanted, yes=yes)

    found, saved = with_kept(project, work, ready=True)
    if project.json:
        print_json({"habits": [_described(each) for each in found]} | ({"saved": saved} if wanted else {}))
    elif wanted:
        note(f"Saved: {saved}\nRun it: doorward programs run {name or wanted} --help" if saved else "not saved")
    elif found:
        table(["habit", "times", "principal", "parameters"], [
            (each.name, len(each.programs), each.programs[0].principal, " ".join(each.params)) for each in found
        ])  # fmt: skip
        note("Then: doorward habits --save HABIT shows and saves one")
    else:
        said = 'nothing that is not saved came {} times; all runs are recorded with [runs] durable = "always"'
        note(said.format(least))
    return 1 if wanted and not saved else 0


async def _found(kept: KeptPrograms, gate: Gateway, least: int) -> list[Habit]:
    """What came so often, and is not saved: what came most often first."""
    seen = list(await gate.services[RECORDINGS].programs()) if gate.services.get(RECORDINGS) else []
    recorded = {(each.principal, each.code) for each in seen}
    with suppress(Unsupported):  # a cache that does not list its programs
        seen += [
            RecordedProgram(
                "", each.principal, each.code, each.language, each.description, each.functions, (*each.uses,)
            )
            for each in await kept.all()
            if (each.principal, each.code) not in recorded
        ]
    alike: dict[tuple[object, ...], list[RecordedProgram]] = defaultdict(list)
    for each in seen:
        if each.language == PYTHON and each.calls:
            with suppress(InvalidProgram):
                alike[each.principal, each.functions, shape_of(each.code).text].append(each)
    known, found = _saved_shapes(kept), list[Habit]()
    for programs in sorted(alike.values(), key=len, reverse=True):
        if len(programs) >= least:
            code = with_parameters([each.code for each in programs])
            if shape_of(code).text not in known:
                name = _name(programs[0], {*kept.saved.names(), *(habit.name for habit in found)})
                about = next((each.description for each in programs if each.description), "")
                params = gate.languages.parameters(code, PYTHON)
                found.append(Habit(name, programs, script(name, code, about, params), [*params]))
    return found


def _saved_shapes(kept: KeptPrograms) -> set[str]:
    shapes = set()
    for name in kept.saved.names():
        with suppress(ConfigError, InvalidProgram):
            shapes.add(shape_of(kept.saved.require(name, LOCAL).code).text)
    return shapes


def _name(program: RecordedProgram, taken: set[str]) -> str:
    """A name that is free: of what the program is about, else of the last function that it calls."""
    words = re.findall(r"[a-z0-9]+", (program.description or program.calls[-1].partition(".")[2]).lower())[:4]
    name = "_".join(words).lstrip("0123456789_")[:50] or "habit"
    return next(each for each in (name, *(f"{name}_{n}" for n in range(2, 10**6))) if each not in taken)


async def _save(
    project: Project, kept: KeptPrograms, gate: Gateway, habit: Habit, name: str, *, yes: bool
) -> str | None:
    """Show a habit, and save it. Its test is its newest run, if the script does what that did. Returns: where it is."""
    file, newest = kept.saved.file(name), habit.programs[0]
    if file.exists():
        raise click.UsageError(f"there is a saved program {name!r}: --as gives another name")
    recordings, recording = gate.services.get(RECORDINGS), None
    if recordings is not None and newest.run:
        with suppress(DoorwardError):
            recording = await recordings.recording(newest.code, newest.principal)
        if recording is not None:
            again, then = await recordings.replay(recording, habit.script)
            recording = recording if again.ok and (then is None or again.value == then.value) else None
    if not project.json:
        calls = [*recordings.calls(recording)] if recordings and recording else []
        show_script(habit.script, calls, recorded=recording is not None)
    if not yes and not click.confirm(f"Save this as {file}?", default=True):
        return None
    kept.saved.save(
        name, habit.script, Record({each: kept.saved.hash(each) for each in newest.calls}, newest.functions), recording
    )
    return str(file)


def _described(habit: Habit) -> dict[str, object]:
    about = habit.programs[0]
    return {"name": habit.name, "times": len(habit.programs), "principal": about.principal,
            "parameters": habit.params, "calls": [*about.calls], "code": habit.script}  # fmt: skip
