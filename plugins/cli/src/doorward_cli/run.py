"""`doorward run`: runs a program from a file in a sandbox."""

from __future__ import annotations

import contextlib
import re
import secrets
import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import anyio
import click

from doorward_cli.shared import Project, common, pairs, parsed, tell

if TYPE_CHECKING:
    from doorward import Artefact, Gateway

_READS_WORDS = re.compile(r"\b(?:argv|argparse)\b")


@click.command(context_settings={"ignore_unknown_options": True})
@common
@click.argument("file")
@click.argument("words", nargs=-1, type=click.UNPROCESSED)
@click.option(
    "--param",
    "params",
    multiple=True,
    metavar="NAME=VALUE",
    help="A value for a parameter: JSON, else text; @FILE is a file's content.",
)
@click.option(
    "--function",
    "functions",
    multiple=True,
    metavar="PATTERN",
    help="Functions that the program may call; all if not given.",
)
@click.option(
    "--language",
    default="",
    metavar="NAME",
    help="The language of the program; by default that of FILE's name (.py, .ts, .mts, .js, .mjs), else Python.",
)
@click.option("--sampling/--no-sampling", default=None, help="Whether it may ask a language model.")
@click.option("--timeout", type=float, metavar="SECONDS", help="The most that it may take.")
@click.option("--plan", is_flag=True, help="Withhold what it writes, and show it: `doorward runs commit` writes it.")
@click.option(
    "--artefacts",
    metavar="FOLDER",
    type=click.Path(path_type=Path, file_okay=False),
    help="Save the files that it leaves.",
)
def run(
    project: Project, file: str, words: tuple[str, ...], artefacts: Path | None, language: str, **options: Any
) -> int:
    """Run the program FILE (- is standard input) in a sandbox, where it can import the servers as modules. Python, or
    TypeScript and JavaScript where an executor runs these.

    A Python program that reads `sys.argv`, as argparse does, gets the WORDS behind FILE that are no options of ours,
    and all behind `--`.

    Ends with 0 if it succeeded, 1 if it failed, 2 if the configuration is wrong, 3 if policy, a guard or a limit
    stopped it, 4 if it waits: `doorward runs resume` lets it go on.
    """
    from doorward.administration import language_named, language_of_file
    from doorward.texts import is_script

    made(artefacts)
    language, code = language_named(language) or language_of_file(file), _read(file)
    if words and (is_script(language) or not _READS_WORDS.search(code)):
        what = "No such option" if words[0].startswith("-") else "Unexpected argument"
        raise click.UsageError(f"{what}: {words[0]}. (Only a Python program that reads `sys.argv` gets such words.)")
    return anyio.run(partial(_run, project, code, artefacts, argv=words, language=language, **options))


async def _run(
    project: Project,
    code: str,
    folder: Path | None,
    *,
    params: tuple[str, ...],
    functions: tuple[str, ...],
    timeout: float | None,
    language: str,
    plan: bool,
    sampling: bool | None,
    argv: tuple[str, ...],
) -> int:
    loaded = project.load()
    limits = loaded.config.limits
    if "inline" not in limits.model_fields_set:  # the whole value: the rest could not be fetched after this process
        whole = limits.model_copy(update={"inline": limits.of_run().result_bytes})
        loaded = replace(loaded, config=loaded.config.model_copy(update={"limits": whole}))
    async with project.gateway(loaded) as gate:
        values = _values(gate, code, params, language or gate.languages.default)
        mode, may_call = "plan" if plan else "run", functions or None
        outcome = await gate.execute(
            code,
            params=values,
            functions=may_call,
            timeout=timeout,
            language=language,
            mode=mode,
            sampling=sampling,
            argv=argv,
        )
        outcome = replace(outcome, notes=(*outcome.notes, *await saved(gate, outcome.artefacts, folder)))
    return tell(project, outcome)


def made(artefacts: Path | None) -> None:
    """Make the folder of `--artefacts`, before anything runs: if that fails, no artefact is lost."""
    if artefacts is not None:
        try:
            artefacts.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise click.BadParameter(f"{artefacts}: {error.strerror}", param_hint="--artefacts") from None


async def saved(gate: Gateway, artefacts: Sequence[Artefact], folder: Path | None) -> list[str]:
    """Save artefacts, which would be gone soon. Returns: notes that say where they are."""
    if folder is None:
        count, are = len(artefacts), "artefact is" if len(artefacts) == 1 else "artefacts are"
        return [f"{count} {are} not saved; --artefacts FOLDER saves them"] if count else []
    notes: list[str] = []
    import mimetypes

    from doorward import StateError, UnknownName

    try:
        for number, artefact in enumerate(artefacts, 1):
            extension = mimetypes.guess_extension(artefact.type.partition(";")[0]) or ""
            name = artefact.name.lstrip(".") or f"artefact{extension}"
            with _new(folder, name, number) as file:
                file.write((await gate.file(artefact.uri)).content)
            notes.append(f"{artefact.uri} is {file.name}")
    except (OSError, UnknownName, StateError) as error:
        notes.append(f"the artefacts cannot be saved: {error}")
    return notes


def _new(folder: Path, name: str, number: int) -> BinaryIO:
    """Open a new file under this name or one like it. No file is replaced and no link followed, whatever names a
    program chooses."""
    path = Path(name)
    for candidate in (name, f"{path.stem}-{number}{path.suffix}"):
        with contextlib.suppress(FileExistsError):
            return (folder / candidate).open("xb")
    return (folder / f"{path.stem}-{secrets.token_hex(8)}{path.suffix}").open("xb")


def _values(gate: Gateway, code: str, params: tuple[str, ...], language: str) -> dict[str, Any]:
    """The parameters. A value stays text if the default of its parameter is text: `--param id=12` fits `id = "7"`."""
    known = gate.languages.parameters(code, language)
    return {name: parsed(text, partial(_fits, known.get(name))) for name, text in pairs(params).items()}


def _fits(default: Any, value: Any) -> bool:
    return isinstance(value, str) or not isinstance(default, str)


def _read(file: str) -> str:
    try:
        return sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise click.UsageError(f"{file} cannot be read: {error}") from None
