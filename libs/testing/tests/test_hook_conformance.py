"""Each mistake in a guard, an observer or a secret scheme fails the test that is about it, with a sentence that says
what to do."""

from __future__ import annotations

from typing import Any

import pytest
from doorward_testing import Host, ObserverConformance

from .conftest import Failures, Told

GUARD = """
from collections.abc import Sequence

from doorward import Call, Finding, Program, Settings, hookimpl
from doorward_testing import GuardConformance, call_of


class OfficeSettings(Settings):
    word: str


class Office:
    Settings = OfficeSettings

    def __init__(self, context) -> None:
        self.word = context.settings.word

    @hookimpl
    def guard_program(self, program: Program) -> Sequence[Finding]:
        return [Finding("this word is not for programs")] if self.word in program.code else []

    @hookimpl
    def guard_call(self, call: Call) -> str | None:
        return None if call.function.read_only else "nothing is changed here"

    @hookimpl
    def guard_result(self, call: Call, result: object) -> str | None:
        return "it holds the word" if isinstance(result, str) and self.word in result else None


class TestOffice(GuardConformance):
    plugin = Office

    def settings(self, host):
        return {"word": "payroll"}

    def refused(self):
        return ["payroll = 1", call_of("notes.delete", read_only=False, id=1), (call_of(), "the payroll")]

    def passed(self):
        return ["1 + 1", call_of("notes.find", words="x"), (call_of(), ["milk"])]
"""

OBSERVER = """
import hashlib

from doorward import hookimpl
from doorward_testing import ObserverConformance


class Journal:
    def __init__(self, context) -> None:
        self.file = context.state / "journal"

    def write(self, text: str) -> None:
        with self.file.open("a", errors="replace") as file:
            file.write(text + "\\n")

    @hookimpl
    def run_finished(self, program, outcome) -> None:
        code = hashlib.sha256(program.code.encode(errors="replace")).hexdigest()
        self.write(f"{code} {outcome.ok} {outcome.error.type if outcome.error else ''}")

    @hookimpl
    def call_finished(self, call, record) -> None:
        self.write(f"{call.function.qualified} {record.ok}")


class TestJournal(ObserverConformance):
    plugin = Journal
"""

SCHEME = """
from doorward import MissingSecret, Settings, hookimpl
from doorward_testing import SecretSchemeConformance


class VaultSettings(Settings):
    value: str


class Vault:
    Settings = VaultSettings

    def __init__(self, context) -> None:
        self.values = {"key": context.settings.value}

    @hookimpl
    def resolve_secret(self, scheme: str, name: str) -> str | None:
        if scheme != "vault":
            return None
        if name not in self.values:
            raise MissingSecret("the vault has nothing of this name", hint="Put it in.")
        return self.values[name]


class TestVault(SecretSchemeConformance):
    plugin, scheme = Vault, "vault"

    def settings(self, host):
        return {"value": "h4rd-to-guess-0123456789"}

    def known(self, host):
        return "key", "h4rd-to-guess-0123456789"

    def missing(self, host):
        return "none"
"""

CHANGES = """
from doorward import DoorwardError, hookimpl
from doorward_testing import ResultChangeConformance, call_of


def blackened(value):
    match value:
        case str():
            return value.replace("payroll", "…")
        case list():
            return [blackened(part) for part in value]
        case DoorwardError():
            value.message = blackened(value.message)
    return value


class Blackens:
    @hookimpl
    def change_result(self, call, result):
        return blackened(result)


class TestBlackens(ResultChangeConformance):
    plugin = Blackens

    def made(self, host):
        return Blackens()

    def changed(self):
        return [(call_of(), ["the payroll"], ["the …"])]

    def unchanged(self):
        return [(call_of(), {"n": 1})]
"""

ADDS = """
from types import SimpleNamespace

from doorward import InvalidArguments, hookimpl
from doorward.serving import RawTool
from doorward_testing import AdditionConformance

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}}


class Doubles:
    @hookimpl
    def mcp_tools(self):
        return [RawTool(SimpleNamespace(name="double", description="Doubles", input_schema=SCHEMA), double)]


async def double(context, arguments):
    if not isinstance(n := arguments.get("n"), int):
        raise InvalidArguments("n is a number")
    return 2 * n


class TestDoubles(AdditionConformance):
    plugin = Doubles

    def made(self, host):
        return Doubles()

    def works(self):
        return [("double", {"n": 4})]
"""

TOOLS = """
from doorward import AgentTool, InvalidArguments, ToolAnswer, hookimpl
from doorward_testing import AgentToolConformance

HALVES = {"type": "object", "properties": {"half": {"type": "integer"}}, "required": ["half"]}


class Halves:
    def __init__(self, context):
        self.asked = []

    @hookimpl
    def agent_tools(self):
        return [AgentTool(self.half, "Half", "Half of a number.", output_schema=HALVES, offered=self.offers)]

    async def half(self, caller, n: int = 2):
        if n % 2:
            raise InvalidArguments("n is even")
        self.asked.append(caller.principal)
        return ToolAnswer({"half": n // 2}, f"half of it is {n // 2}")

    def offers(self, gateway, principal):
        return principal != "bob@example.com"


class TestHalves(AgentToolConformance):
    plugin = Halves

    def works(self):
        return [("half", {"n": 4}), ("half", {})]
"""

LAYER = """
from doorward import CallLayer, Refused, RunLayer, hookimpl
from doorward_testing import LayerConformance, call_of


class Quota:
    def __init__(self, context):
        self.left = context.tables["quota"]

    @hookimpl
    def call_layers(self):
        return [CallLayer("quota", self.call, applies=lambda function: not function.read_only, after=["budgets"])]

    @hookimpl
    def run_layers(self):
        return [RunLayer("quota", self.run)]

    async def call(self, run, call, proceed):
        if not self.left:
            raise Refused("the quota is used up")
        self.left -= 1
        return await proceed()

    async def run(self, run, proceed):
        outcome = await proceed()
        run.note("a run")
        return outcome


class TestQuota(LayerConformance):
    plugin = Quota

    def owned(self):
        return {"quota": (int, 1)}

    def passed(self):
        return [call_of("notes.delete", read_only=False, id=1), call_of(), "1 + 1"]

    def refused(self):
        return [call_of("notes.delete", read_only=False, id=1)]
"""

GOOD = {
    "tools": TOOLS,
    "layer": LAYER,
    "layer that asks": LAYER.replace("return await proceed()", "return await proceed(confirmed=True)"),
    "guard": GUARD,
    "observer": OBSERVER,
    "scheme": SCHEME,
    "changes": CHANGES,
    "adds": ADDS,
}

MISTAKES = {
    "no layers": (LAYER, ("return [CallLayer", "return [] and [CallLayer"), "test_it_refuses", "it let pass the call notes.delete"),
    "no name": (LAYER, ('RunLayer("quota"', 'RunLayer(""'), "test_its_layers", "has no name"),
    "one text for an order": (LAYER, ('["budgets"]', '"budgets"'), "test_its_layers", "write a list of names"),
    "a layer that is not async": (LAYER, ("async def run(self, run, proceed):\n        outcome = await", "def run(self, run, proceed):\n        outcome ="), "test_its_layers", "`around` is `async def`"),
    "applies to some": (LAYER, ("not function.read_only", "function.name.isascii() and None"), "test_its_layers", "no bool"),
    "nothing to pass": (LAYER, ("def passed", "def passes"), "test_it_lets_pass", "Write in it: def passed(self)"),
    "refuses reads": (LAYER, ("applies=lambda function: not function.read_only, ", ""), "test_it_lets_pass", "raised Refused"),
    "proceeds twice": (LAYER, ("self.left -= 1", "self.left -= 1; await proceed()"), "test_it_lets_pass", "it proceeded 2 times"),
    "answers nothing": (LAYER, ("return outcome", "pass"), "test_it_lets_pass", "it answered None for a run of '1 + 1'"),
    "changes arguments": (LAYER, ("self.left -= 1", "call.arguments.clear(); self.left -= 1"), "test_it_lets_pass", "it changed the call"),
    "refuses afterwards": (LAYER, ("        if not self.left:", "        if not self.left and await proceed():"), "test_it_refuses", "after it had been made"),
    "refuses without a word": (LAYER, ('"the quota is used up"', '""'), "test_it_refuses", "without a reason"),
    "refuses by accident": (LAYER, ('raise Refused("the quota is used up")', "[].pop()"), "test_it_refuses", "with IndexError"),
    "swallows errors": (
        LAYER,
        ("        return await proceed()", "        try:\n            return await proceed()\n        except Exception:\n            return __import__('doorward').Reply(1)"),
        "test_errors_pass",
        "say replaces_errors = True, or raise it",
    ),
    "swallows cancellation": (
        LAYER,
        ("        outcome = await proceed()", "        try:\n            outcome = await proceed()\n        except BaseException:\n            outcome = __import__('doorward').Outcome(True)"),
        "test_cancellation_passes",
        "when it was cancelled: let CancelledError pass",
    ),
    "odd outcomes": (
        LAYER,
        ('run.note("a run")', "run.note(outcome.error.hint.lower())"),
        "test_it_raises_nothing_odd",
        "Raise doorward.Refused",
    ),
    "blocks": (LAYER, ("self.left -= 1", "self.left -= 1; __import__('time').sleep(2.5)"), "test_it_does_not_block", "the event loop stood still"),
    "leaves a task": (
        LAYER,
        ("self.left -= 1", "self.left -= 1; import asyncio; self.task = asyncio.ensure_future(asyncio.sleep(1000))"),
        "test_nothing_is_left",
        "these go on after `close`",
    ),
    "no plugin": (GUARD, ("    plugin = Office\n", ""), "test_it_loads", "Write in it: plugin = your_module"),
    "no hook": (
        GUARD,
        ("    @hookimpl\n", ""),
        "test_it_loads",
        "implements none of the hooks guard_program, decide, guard_call, guard_result: mark a function",
    ),
    "an unknown hook": (
        GUARD,
        ("    @hookimpl\n    def guard_call", "    @hookimpl\n    def guard_calls"),
        "test_it_loads",
        "plugin 'under_test' of test-plugin 1.0 does not fit its hook",
    ),
    "an unknown argument": (
        GUARD,
        ("def guard_call(self, call: Call)", "def guard_call(self, request)"),
        "test_it_loads",
        "does not fit its hook",
    ),
    "an asynchronous hook": (
        GUARD,
        ("def guard_call", "async def guard_call"),
        "test_it_loads",
        "asynchronous hooks: ['guard_call']. Core does not await these",
    ),
    "nothing to refuse": (GUARD, ("def refused", "def refuses"), "test_it_refuses", "Write in it: def refused(self)"),
    "lets a program pass": (
        GUARD,
        ("if self.word in program.code", "if self.word == program.code"),
        "test_it_refuses",
        "it let pass the program 'payroll = 1'",
    ),
    "only advice": (
        GUARD,
        ('Finding("this word is not for programs")', 'Finding("this word is not for programs", refuse=False)'),
        "test_it_guards_in_a_gateway",
        "a gateway ran the program 'payroll = 1'",
    ),
    "lets a call pass": (
        GUARD,
        ('"nothing is changed here"', "None"),
        "test_it_refuses",
        "it let pass the call notes.delete({'id': 1})",
    ),
    "lets a result pass": (
        GUARD,
        ("isinstance(result, str) and", "isinstance(result, list) and"),
        "test_it_refuses",
        "it let pass the result 'the payroll' of notes.find",
    ),
    "no reason": (GUARD, ('"nothing is changed here"', '""'), "test_it_refuses", "without a reason"),
    "False": (GUARD, ('"nothing is changed here"', "False"), "test_it_refuses", "guard_call answered False"),
    "texts for findings": (
        GUARD,
        ('[Finding("this word is not for programs")]', '["no"]'),
        "test_it_refuses",
        "guard_program answered ['no']: it answers doorward.Finding objects",
    ),
    "refuses everything": (
        GUARD,
        ("None if call.function.read_only else ", ""),
        "test_it_lets_pass",
        "it refused the call notes.find({'words': 'x'}): nothing is changed here",
    ),
    "parses": (
        GUARD,
        ("if self.word in program.code", "if __import__('ast').parse(program.code) and self.word in program.code"),
        "test_it_raises_nothing",
        "Never raise: answer a reason, or None.",
    ),
    "odd arguments": (
        GUARD,
        ("None if call.function.read_only", "None if call.arguments.get('value', '').isascii() or call.function.read_only"),
        "test_it_raises_nothing",
        "the guard, given the call notes.find(",
    ),
    "changes": (
        GUARD,
        ("        return None if call.function", "        call.arguments['seen'] = 1\n        return None if call.function"),
        "test_it_changes_nothing",
        "it changed the call notes.delete",
    ),
    "odd texts": (
        OBSERVER,
        ('.encode(errors="replace")', ".encode()"),
        "test_it_raises_nothing",
        "Catch what may fail: nobody else does.",
    ),
    "a failure without an error": (
        OBSERVER,
        ("outcome.error.type if outcome.error else ''", "outcome.error.type"),
        "test_it_raises_nothing",
        "run_finished, told of",
    ),
    "changes what it is told": (
        OBSERVER,
        ("        self.write(f\"{call.", "        call.arguments.clear()\n        self.write(f\"{call."),
        "test_it_changes_nothing",
        "call_finished changed what it was told",
    ),
    "changes outcomes": (
        OBSERVER,
        ("        code = hash", "        object.__setattr__(outcome, 'printed', 'seen')\n        code = hash"),
        "test_it_changes_nothing",
        "run_finished changed what it was told",
    ),
    "tells values": (
        OBSERVER,
        ("{outcome.ok}", "{outcome.ok} {call_of_it(program)}"),
        "test_it_raises_nothing",
        "raised NameError",
    ),
    "tells credentials": (
        OBSERVER,
        ("        self.write(f\"{call.", "        self.write('canary-hQ7vX2mLw9Zt4Rb8')\n        self.write(f\"{call."),
        "test_no_secret_is_told",
        "it told a credential: tell sizes and hashes, never contents",
    ),
    "forgets the refused": (
        OBSERVER,
        ("        code = hash", "        if outcome.error: return\n        code = hash"),
        "test_refused_and_cancelled_runs_are_told",
        "it tells nothing of a run that fails",
    ),
    "forgets the cancelled": (
        OBSERVER,
        ("        code = hash", "        if outcome.error and outcome.error.type == 'Cancelled': return\n        code = hash"),
        "test_refused_and_cancelled_runs_are_told",
        "it tells nothing of a run that is cancelled",
    ),
    "no scheme": (SCHEME, ('    plugin, scheme = Vault, "vault"', "    plugin = Vault"), "test_a_value", 'scheme = "vault"'),
    "another value": (SCHEME, ("return self.values[name]", "return name"), "test_a_value", "is not the value that"),
    "any scheme": (
        SCHEME,
        ('scheme != "vault"', "not scheme"),
        "test_other_schemes_are_left_alone",
        "it answered to the scheme 'other': answer None unless scheme == 'vault'",
    ),
    "the beginning of a scheme": (
        SCHEME,
        ('scheme != "vault"', 'not "vault".startswith(scheme) or not scheme'),
        "test_other_schemes_are_left_alone",
        "it answered to the scheme 'vaul'",
    ),
    "nothing is missing": (
        SCHEME,
        ('raise MissingSecret("the vault has nothing of this name", hint="Put it in.")', 'return ""'),
        "test_a_value_that_is_missing",
        "a missing value is '': raise doorward.MissingSecret",
    ),
    "a key error": (
        SCHEME,
        ("if name not in self.values", "if False"),
        "test_a_value_that_is_missing",
        "a missing value raised KeyError",
    ),
    "tells others": (
        SCHEME,
        ('"the vault has nothing of this name"', 'f"no {name} in {self.values}"'),
        "test_a_value_that_is_missing",
        "the error about a missing value holds another value",
    ),
    "odd names": (
        SCHEME,
        ("if name not in self.values", "open(name) if '/' in name else 0\n        if name not in self.values"),
        "test_odd_names",
        "Raise doorward.ConfigError.",
    ),
    "one thread": (
        SCHEME,
        ("        if name not in", "        import time\n        self.name = name\n        time.sleep(0.01)\n        name = self.name\n        if name not in"),
        "test_many_threads_at_once",
        "threads got another answer than one alone",
    ),
    "changes nothing": (CHANGES, ('"payroll", "…"', '"x", "y"'), "test_it_changes", "not ['the …']"),
    "changes all": (CHANGES, ("    return value\n", "    return 5\n"), "test_it_leaves_alone", "it made 5 of {'n': 1}"),
    "makes errors texts": (
        CHANGES,
        ("return blackened(result)", "return str(blackened(result))"),
        "test_errors_stay_errors",
        "it answered str for an error",
    ),
    "knows texts alone": (
        CHANGES,
        ("return blackened(result)", "return result.replace('a', 'b')"),
        "test_it_raises_nothing",
        "raised AttributeError",
    ),
    "answers objects": (
        CHANGES,
        ("return blackened(result)", "return object()"),
        "test_it_raises_nothing",
        "it answered object for the result None",
    ),
    "no type that a schema has": (
        TOOLS, ("n: int = 2", "n: complex = 2"), "test_its_tools", "Arguments are str, bool, int, float, list or dict."
    ),
    "no value of its schema": (TOOLS, ('{"half": n // 2}', '{"half": str(n)}'), "test_it_works", "not of its output_schema"),
    "no text": (TOOLS, ('f"half of it is {n // 2}"', '""'), "test_it_works", "half answered no text"),
    "no answer": (TOOLS, ("return ToolAnswer(", "return ("), "test_it_works", "half answered tuple, no doorward.ToolAnswer"),
    "odd numbers": (
        TOOLS,
        ("if n % 2:", "if n < 0 and 1 / 0:"),
        "test_odd_arguments_are_refused_or_answered",
        "raised ZeroDivisionError: raise doorward.InvalidArguments",
    ),
    "unsure": (TOOLS, ('principal != "bob', '{}[principal] != "bob'), "test_it_says_whom_it_is_offered", "Answer True or False."),
    "slow to say": (
        TOOLS,
        ("        return principal !=", "        __import__('time').sleep(0.02)\n        return principal !="),
        "test_it_says_whom_it_is_offered",
        "remember what it looks at",
    ),
    "the same name": (
        ADDS,
        ("double)]", "double)] * 2"),
        "test_what_it_adds_can_be_told_apart",
        "mcp_tools answered several of the same name",
    ),
    "another each time": (
        ADDS,
        ('name="double"', 'name=f"double{id(object())}{__import__(\'random\').random()}"'),
        "test_what_it_adds_can_be_told_apart",
        "answered others the second time",
    ),
    "no description": (ADDS, ('"Doubles"', "None"), "test_tools_say_what_they_take", "double has no description"),
    "no schema": (ADDS, ('"integer"', '"int"'), "test_tools_say_what_they_take", "is no JSON Schema"),
    "does not work": (ADDS, ("return 2 * n", "return n.x"), "test_it_works", "Say in `works` what succeeds."),
    "odd arguments of a tool": (
        ADDS,
        ("if not isinstance(n := arguments.get(\"n\"), int)", "if not (n := arguments[\"n\"])"),
        "test_odd_arguments_are_refused_or_answered",
        "raised KeyError: raise doorward.InvalidArguments",
    ),
    "sometimes": (
        SCHEME,
        ("        return self.values[name]", "        return self.values.pop(name)"),
        "test_a_value",
        "raised MissingSecret: the vault has nothing",
    ),
}  # fmt: skip


class Opens:
    """A hook class with something to open and to close."""

    def __init__(self, context: Any) -> None:
        self.did: list[str] = []

    async def open(self) -> None:
        self.did.append("open")

    async def close(self) -> None:
        self.did.append("close")


@pytest.mark.anyio
async def test_a_plugin_is_opened_and_closed(host: Host) -> None:
    """As a gateway does, so that tests which ask its hooks by hand find it ready."""

    class Conformance(ObserverConformance):
        plugin = Opens

    async with Conformance().opened(host) as plugin:
        assert plugin.did == ["open"]
    assert plugin.did == ["open", "close"]


@pytest.mark.slow
def test_one_that_takes_long(told: Told) -> None:
    """A guard that keeps everything else from running is told so."""
    hasty = GUARD.replace("    def passed(self):", "    seconds = 0.2\n\n    def passed(self):")
    change = ("if self.word in program.code", "if __import__('time').sleep(0.3) or self.word in program.code")
    told(hasty, change, "test_it_raises_nothing", "and nothing else ran meanwhile")


@pytest.mark.slow
@pytest.mark.parametrize("kind", GOOD)
def test_a_good_one_passes(failures: Failures, kind: str) -> None:
    """A plugin without mistakes has no failure."""
    assert failures(GOOD[kind]) == {}


@pytest.mark.slow
@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_told(told: Told, mistake: str) -> None:
    """In the test that is about it, in one message, without our own frames."""
    told(*MISTAKES[mistake])
