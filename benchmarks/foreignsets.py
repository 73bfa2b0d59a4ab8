"""Questions with their right functions that packages of the registry carry for other purposes.

The packages are downloaded below `.venv` and read as they are: JSON, and Python by `ast`. Nothing of them is run, and
nothing is copied into the repository.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

WHEELS = Path(os.environ.get("BENCH_QUESTIONS", Path(sys.prefix) / "share" / "doorward-questions"))
PACKAGES = ("bfcl-eval==2026.3.23", "agentdojo==0.1.35", "inspect-evals==0.26.0")
"""Apache 2.0, MIT and MIT. Another version has other questions."""

Tool = dict[str, Any]
Place = tuple[str, str]
"""A server and the name of a tool."""

_TYPES = {
    "dict": "object", "float": "number", "tuple": "array", "HashMap": "object", "ArrayList": "array",
    "String": "string",
}  # fmt: skip
_BFCL = "bfcl_eval/data"
_TURNS = {
    "GorillaFileSystem": "gorilla_file_system", "MathAPI": "math_api", "MessageAPI": "message_api",
    "TwitterAPI": "posting_api", "TicketAPI": "ticket_api", "TradingBot": "trading_bot", "TravelAPI": "travel_booking",
    "VehicleControlAPI": "vehicle_control",
}  # fmt: skip


@dataclass
class QuestionSet:
    """Tools as an MCP server lists them, and questions with the tools that are right."""

    name: str
    tools: dict[Place, Tool] = field(default_factory=dict)
    questions: list[tuple[str, list[Place]]] = field(default_factory=list)


def wheel(package: str) -> zipfile.ZipFile:
    """The downloaded package; it is downloaded if it is not there. Raises: CalledProcessError, OSError."""
    name = package.partition("==")[0].replace("-", "_")
    if not any(WHEELS.glob(f"{name}-*.whl")):
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
        subprocess.run([*command, "--dest", str(WHEELS), package], check=True)
    return zipfile.ZipFile(next(WHEELS.glob(f"{name}-*.whl")))


def _lines(of: zipfile.ZipFile, name: str) -> list[Any]:
    return [json.loads(line) for line in of.read(f"{_BFCL}/{name}.json").decode().splitlines() if line.strip()]


def single(of: zipfile.ZipFile, kind: str) -> QuestionSet:
    """Questions of one turn. Functions that are offered together, by whichever question, are a server."""
    questions = _lines(of, f"BFCL_v4_{kind}")
    answers = {one["id"]: one["ground_truth"] for one in _lines(of, f"possible_answer/BFCL_v4_{kind}")}
    offered = [[function["name"] for function in one["function"]] for one in questions]
    root = _together(offered)
    servers: dict[str, str] = {}
    found = QuestionSet(f"bfcl {kind}")
    for one, names in zip(questions, offered, strict=True):
        places = {}
        for function in one["function"]:
            name = function["name"]
            server = servers.setdefault(root[name], f"s{len(servers)}")
            places[name] = (server, name)
            found.tools.setdefault((server, name), _tool(function))
        text = "\n".join(m["content"] for turn in one["question"] for m in turn if m["role"] == "user")
        right = sorted({places[name] for call in answers[one["id"]] for name in call if name in names})
        if right and text:
            found.questions.append((text, right))
    return found


def _together(groups: Iterable[Sequence[str]]) -> dict[str, str]:
    """For each name, one name that stands for all that are in a group with it, or with one that is, and so on."""
    parent: dict[str, str] = {}

    def top(name: str) -> str:
        while parent[name] != name:
            name = parent[name]
        return name

    for group in groups:
        for name in group:
            parent.setdefault(name, name)
        for name in group[1:]:
            parent[top(name)] = top(group[0])
    return {name: top(name) for name in parent}


def turns(of: zipfile.ZipFile, *, apart: bool) -> QuestionSet:
    """Conversations over eight services: each turn a question, or each conversation."""
    found = QuestionSet("bfcl turns" if apart else "bfcl tasks")
    places: dict[str, dict[str, Place]] = defaultdict(dict)
    for service, file in _TURNS.items():
        for function in _lines(of, f"multi_turn_func_doc/{file}"):
            place = (file, function["name"])
            found.tools[place] = _tool(function) | {"outputSchema": _schema(function.get("response"))}
            places[service][function["name"]] = place
    answers = {one["id"]: one["ground_truth"] for one in _lines(of, "possible_answer/BFCL_v4_multi_turn_base")}
    for one in _lines(of, "BFCL_v4_multi_turn_base"):
        mine = {name: place for service in one["involved_classes"] for name, place in places[service].items()}
        asked = []
        for turn, calls in zip(one["question"], answers[one["id"]], strict=False):
            right = sorted({mine[name] for call in calls if (name := call.partition("(")[0]) in mine})
            asked.append((" ".join(message["content"] for message in turn), right))
        if apart:
            found.questions += [(text, right) for text, right in asked if text and right]
        else:
            everything = sorted({place for _, right in asked for place in right})
            found.questions.append(("\n".join(text for text, _ in asked), everything))
    return found


def _tool(function: Mapping[str, Any]) -> Tool:
    about = function["description"]
    return {"name": function["name"], "description": about, "inputSchema": _schema(function["parameters"])}


def _schema(given: Any) -> Any:
    """A schema whose types are those of Python and Java, as JSON Schema."""
    if isinstance(given, list):
        return [_schema(one) for one in given]
    if not isinstance(given, dict):
        return given
    made = {key: _schema(one) for key, one in given.items()}
    kind = made.get("type")
    if kind == "any":
        del made["type"]
    elif isinstance(kind, str):
        made["type"] = _TYPES.get(kind, kind)
    return made
