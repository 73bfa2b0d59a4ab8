"""The questions of `agentdojo` and of `inspect-evals` (tau2), whose tools are functions of Python: read by `ast`."""

from __future__ import annotations

import ast
import json
import re
import textwrap
import zipfile
from collections.abc import Mapping
from pathlib import PurePosixPath

from foreignsets import Place, QuestionSet, Tool

_TYPES = {"str": "string", "int": "integer", "float": "number", "bool": "boolean", "list": "array", "dict": "object"}
_DOJO = "agentdojo/default_suites/v1"
_TAU = "inspect_evals/tau2"


def agentdojo(of: zipfile.ZipFile) -> QuestionSet:
    """Tasks of an office, a bank, a chat and travels; the calls of their solutions are right."""
    found = QuestionSet("agentdojo")
    written: dict[str, tuple[str, ast.FunctionDef]] = {}
    for name in sorted(of.namelist()):
        if PurePosixPath(name).match(f"{_DOJO}/tools/*.py"):
            server = PurePosixPath(name).stem.replace("_client", "")
            written |= {f.name: (server, f) for f in _parsed(of, name).body if isinstance(f, ast.FunctionDef)}
    for suite in ("banking", "slack", "travel", "workspace"):
        for name in _named(_parsed(of, f"{_DOJO}/{suite}/task_suite.py")):
            if name in written:
                server, function = written[name]
                found.tools[server, name] = _tool(function, name)
        for task in _parsed(of, f"{_DOJO}/{suite}/user_tasks.py").body:
            if isinstance(task, ast.ClassDef):
                calls = {(written[name][0], name) for name in _called(task) if name in written}
                text, right = _prompt(task), sorted(call for call in calls if call in found.tools)
                if text and right:
                    found.questions.append((text, right))
    return found


def tau2(of: zipfile.ZipFile) -> QuestionSet:
    """Customers of a shop and an airline; the actions that a task expects are right."""
    found = QuestionSet("tau2")
    for domain in ("retail", "airline", "telecom", "banking"):
        for made in _parsed(of, f"{_TAU}/{domain}/tools.py").body:
            if not isinstance(made, ast.FunctionDef):
                continue
            inner = [one for one in made.body if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef))]
            if inner and any(getattr(decorator, "id", "") == "tool" for decorator in made.decorator_list):
                found.tools[domain, made.name] = _tool(inner[0], made.name)
    for domain in ("retail", "airline"):
        for task in json.loads(of.read(f"{_TAU}/data/domains/{domain}/tasks.json")):
            told = task["user_scenario"]["instructions"]
            text = told if isinstance(told, str) else told.get("reason_for_call") or ""
            actions: set[Place] = {(domain, one["name"]) for one in task["evaluation_criteria"].get("actions") or []}
            if text and (right := sorted(action for action in actions if action in found.tools)):
                found.questions.append((text, right))
    return found


def _parsed(of: zipfile.ZipFile, name: str) -> ast.Module:
    return ast.parse(of.read(name))


def _named(suite: ast.Module) -> list[str]:
    """The functions in the list `TOOLS`."""
    for made in suite.body:
        if isinstance(made, ast.Assign) and getattr(made.targets[0], "id", "") == "TOOLS":
            return [each.id for each in getattr(made.value, "elts", ()) if isinstance(each, ast.Name)]
    return []


def _called(task: ast.ClassDef) -> list[str]:
    """The tools that the solution of a task calls."""
    solution = [one for one in task.body if isinstance(one, ast.FunctionDef) and one.name == "ground_truth"]
    calls = [one for each in solution for one in ast.walk(each) if isinstance(one, ast.Call)]
    return [
        str(given.value.value)
        for call in calls
        if getattr(call.func, "id", "") == "FunctionCall"
        for given in call.keywords
        if given.arg == "function" and isinstance(given.value, ast.Constant)
    ]


def _prompt(task: ast.ClassDef) -> str:
    """What the user asks, with the constants of the task in it."""
    constants: dict[str, str] = {}
    for made in task.body:
        if isinstance(made, ast.Assign) and isinstance(made.targets[0], ast.Name):
            constants[made.targets[0].id] = _text(made.value, constants)
    return constants.get("PROMPT", "")


def _text(of: ast.expr, constants: Mapping[str, str]) -> str:
    """The text of an expression, as far as it can be told without running it; `it` for the rest."""
    match of:
        case ast.Constant():
            return str(of.value)
        case ast.JoinedStr():
            return "".join(_text(part, constants) for part in of.values)
        case ast.FormattedValue():
            return _text(of.value, constants)
        case ast.Name():
            return constants.get(of.id) or "it"
        case ast.BinOp(op=ast.Add()):
            return _text(of.left, constants) + _text(of.right, constants)
    return "it"


def _tool(function: ast.FunctionDef | ast.AsyncFunctionDef, name: str) -> Tool:
    """A function as a tool: its docstring without the parameters, which are told in the schema."""
    told = textwrap.dedent(ast.get_docstring(function) or "")
    section = told.partition("Args:")[2].partition("Returns:")[0]
    about = dict(re.findall(r":param (\w+): ([^\n]+)", told))
    about |= dict(re.findall(r"^\s+(\w+)(?: \([^)]*\))?: ([^\n]+)", section, re.MULTILINE))
    arguments = function.args.args
    required_until = len(arguments) - len(function.args.defaults)
    properties, required = {}, []
    for number, argument in enumerate(arguments):
        kind = ast.unparse(argument.annotation) if argument.annotation else ""
        if argument.arg == "self" or "Annotated" in kind:
            continue  # what the framework passes
        base = re.match(r"\w*", kind)
        properties[argument.arg] = {
            "type": _TYPES.get(base[0] if base else "", "string"),
            "description": about.get(argument.arg, ""),
        }
        if number < required_until:
            required.append(argument.arg)
    return {
        "name": name,
        "description": re.split(r"\n\s*:param|\nArgs:|\n\s*:return|\nReturns:", told)[0].strip(),
        "inputSchema": {"type": "object", "properties": properties, "required": required},
    }
