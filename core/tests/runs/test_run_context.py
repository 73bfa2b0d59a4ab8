"""What a run has used and left is written by itself, whoever tells it what happened."""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import doorward
import pytest
from doorward.model.errors import DoorwardError
from doorward.model.programs import Program
from doorward.runs.run_context import RunContext
from doorward_testing.samples import Replies

from ..conftest import CONFIG

CONTEXTS = {"RunContext", "CallContext", "HelperContext", "Session"}
"""What the rooms know a run by, and what it runs in."""

CORE = Path(doorward.__file__).parent


@pytest.mark.anyio
async def test_no_field_of_a_run_can_be_written(doorward_host: Any) -> None:
    """Not from outside: what is public is read-only, holds no list to add to, and nothing new can be hung on it."""
    async with doorward_host.gateway(CONFIG) as gate:
        run = gate.execution.context(Program("", run="r"))
        fields = [
            name for name in dir(run) if not name.startswith("_") and not callable(getattr(RunContext, name, None))
        ]
        assert {"program", "made", "withheld", "notes"} <= set(fields)
        for name in [*fields, "another"]:
            with pytest.raises(AttributeError):
                setattr(run, name, None)
        assert not [name for name in fields if isinstance(getattr(run, name), (list, dict, set, bytearray))]


def written(tree: ast.Module) -> Iterator[str]:
    """Where a function writes to a run that it is given, to what is in it, or reads what is private there."""
    for function in ast.walk(tree):
        if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        given = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
        runs = {
            a.arg for a in given if a.annotation is not None and CONTEXTS & set(ast.unparse(a.annotation).split(" | "))
        }
        for node in ast.walk(function):
            if isinstance(node, ast.Attribute) and root(node) in runs:
                private = isinstance(node.value, ast.Name) and node.attr.startswith("_")
                if private or not isinstance(node.ctx, ast.Load):
                    yield f"{node.lineno}: {ast.unparse(node)}"


def root(node: ast.expr) -> str:
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


@pytest.mark.slow
def test_nobody_else_writes_a_run() -> None:
    """No module of core assigns to a run, to its session, nor to anything in them, nor looks behind what they offer."""
    others = [file for file in CORE.rglob("*.py") if file.name != "sessions.py"]
    found = {str(file.relative_to(CORE)): [*written(ast.parse(file.read_text(encoding="utf-8")))] for file in others}
    assert {file: places for file, places in found.items() if places} == {}
    bad = ast.parse(
        "async def f(run: RunContext | None): run.made -= 1; run.session.dead = True; run._slots; run.x[0].y = 1; "
        "run.made"
    )
    assert len([*written(bad)]) == 4, "the test sees what it looks for"


@pytest.mark.anyio
async def test_what_counts_as_a_call(doorward_host: Any) -> None:
    """A helper that makes calls counts as many as it makes, whatever comes of them; any other counts as one, as one
    that fails before."""
    oslo: dict[str, Any] = {"city": "Oslo"}
    doorward_host.install("plugin", "replies", Replies)
    async with doorward_host.gateway(CONFIG.replace("plugins = []", 'plugins = ["replies"]')) as gate:
        await gate.ready()
        for function, args, kwargs, made in [
            ("weather.get_forecast", (), oslo, 1),
            ("doorward.call", ("weather.get_forecast", oslo), {}, 1),
            ("doorward.call", ("weather.fail",), {}, 1),
            ("doorward.call", ("doorward.call", {"function": "weather.get_forecast", "arguments": oslo}), {}, 1),
            ("doorward.replies.reply", ("weather.get_forecast", oslo), {}, 1),
            ("doorward.replies.reply", ("weather.none",), {}, 1),
            ("doorward.replies.reply", ("weather.fail",), {}, 1),
            ("doorward.search", ("forecast",), {}, 1),  # which is not in use here
            ("doorward.no_helper", (), {}, 1),
        ]:
            run = gate.execution.of_call("local")
            with contextlib.suppress(DoorwardError):
                await run.call(function, args, kwargs)
            assert run.made == made, function


@pytest.mark.anyio
async def test_one_call_that_answers_more_than_may_be_kept(doorward_host: Any) -> None:
    """What goes wrong is in the outcome, also when there is no room for the rest of a large answer."""
    async with doorward_host.gateway(CONFIG + '[limits]\ninline = "1KiB"\nkept = "2KiB"') as gate:
        called, ran = await gate.answer("weather.big"), await gate.execute("await weather.big()")
        for outcome in (called, ran):
            assert outcome.error is not None
            assert (outcome.error.kind, "more than may be kept" in outcome.error.message) == ("limit", True)
