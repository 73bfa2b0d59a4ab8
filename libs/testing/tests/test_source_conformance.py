"""Each mistake in a source fails the test that is about it, with a sentence that says what to do."""

from __future__ import annotations

import pytest

from .conftest import Failures, Told

pytestmark = pytest.mark.slow

GOOD = """
from doorward import ApiError, Call, Compiled, Function, ServerContext, ServerError, Settings
from doorward_testing import SourceConformance


class NotesSettings(Settings):
    path: str = "notes"


class Notes:
    Settings = NotesSettings

    def __init__(self, server: ServerContext) -> None:
        self.server, self.folder, self.busy = server, server.folder / server.settings.path, False

    async def fingerprint(self) -> str:
        return "1"

    async def compile(self) -> Compiled:
        if not self.folder.is_dir():
            raise ServerError("there is no such folder")
        words = {"type": "object", "properties": {"words": {"type": "string"}}}
        return Compiled([Function(self.server.name, "find", "find", "Find notes", parameters=words, read_only=True)])

    async def call(self, call: Call) -> object:
        if call.arguments.get("words") == "none":
            raise ApiError("there is none", status=404)
        return ["milk"]

    async def close(self) -> None:
        pass


class TestNotes(SourceConformance):
    driver = Notes

    def settings(self, host):
        (host.folder / "notes").mkdir(exist_ok=True)
        return {"path": "notes"}

    def example(self, host):
        return "find", {"words": "milk"}

    def refused(self, host):
        return "find", {"words": "none"}

    def broken(self, host):
        return {"path": "nowhere"}
"""

MISTAKES = {
    "no driver": (("    driver = Notes\n", ""), "test_the_driver_is_complete", "Write in it: driver = YourClass"),
    "an instance": (("driver = Notes", "driver = 5"), "test_the_driver_is_complete", "is no class, and core makes the source of one"),
    "no settings": (("    Settings = NotesSettings\n", ""), "test_the_driver_is_complete", "Notes has no `Settings`: write `Settings = "),
    "strange settings": (("    Settings = NotesSettings\n", "    Settings = dict\n"), "test_the_driver_is_complete", "Notes has no `Settings`"),
    "no fingerprint": (("async def fingerprint", "async def finger"), "test_the_driver_is_complete", "lacks the method `fingerprint`"),
    "sync call": (("async def call", "def call"), "test_the_driver_is_complete", "Notes.call is not asynchronous: write `async def call`"),
    "sync close": (("async def close", "def close"), "test_the_driver_is_complete", "Notes.close is not asynchronous"),
    "two arguments": (("server: ServerContext)", "server, more)"), "test_the_driver_is_complete", "cannot be made with its context alone"),
    "no example": (("def example", "def sample"), "test_a_call", "Write in it: def example(self, host)"),
    "settings that take all": (
        ("    path: str", '    model_config = {"extra": "ignore"}\n    path: str'),
        "test_unknown_settings_are_refused",
        "Notes.Settings takes unknown keys",
    ),
    "integer fingerprint": (('return "1"', "return 1"), "test_fingerprint_is_stable", "return a text"),
    "empty fingerprint": (('return "1"', 'return ""'), "test_fingerprint_is_stable", "return a text"),
    "changing fingerprint": (
        ('return "1"', "return str(id(object())) + str(__import__('time').monotonic_ns())"),
        "test_fingerprint_is_stable",
        "fingerprints of the same thing differ",
    ),
    "foreign server": (
        ("Function(self.server.name", 'Function("notes"'),
        "test_functions_belong_to_their_server",
        "say server=['notes']: use `server.name`",
    ),
    "odd name": (('"find", "find"', '"find it", "find"'), "test_names_are_unique_identifiers", "no Python identifiers"),
    "keyword": (('"find", "find"', '"from", "find"'), "test_names_are_unique_identifiers", "no Python identifiers"),
    "same name": (
        ("return Compiled([", 'return Compiled([Function(self.server.name, "find"), '),
        "test_names_are_unique_identifiers",
        "given to several functions: ['find']",
    ),
    "no functions": (("return Compiled([", "return Compiled([] and ["), "test_schemas_are_valid", "compiled no function"),
    "a list": (("return Compiled([", "return list([" ), "test_schemas_are_valid", "return a doorward.Compiled"),
    "invalid schema": (
        ('{"type": "string"}', '{"type": "text"}'),
        "test_schemas_are_valid",
        "the parameters of find are no valid JSON Schema",
    ),
    "odd parameter": (
        ('"properties": {"words"', '"properties": {"X-Words": {"type": "string"}, "words"'),
        "test_schemas_are_valid",
        "the parameters of find are no Python identifiers: ['X-Words']; doorward.values.python_name makes them",
    ),
    "no object": (('"type": "object"', '"type": "array"'), "test_schemas_are_valid", "the parameters of find are not {"),
    "reference to nothing": (
        ('{"type": "string"}', '{"$ref": "#/$defs/Words"}'),
        "test_schemas_are_valid",
        "the parameters of find are no valid JSON Schema",
    ),
    "invalid returns": (
        ("read_only=True", 'returns={"type": 1}'),
        "test_schemas_are_valid",
        "what find returns are no valid JSON Schema",
    ),
    "objects in data": (("read_only=True", 'data={"x": self}'), "test_functions_are_plain_data", "data of find"),
    "not a number": (
        ("read_only=True", 'data={"x": float("nan")}'),
        "test_functions_are_plain_data",
        "data of find are stored, and are no JSON",
    ),
    "a defect": (('return ["milk"]', "return {}[1]"), "test_a_call", "call('find') raised KeyError: 1."),
    "no plain answer": (('return ["milk"]', "return open(1, closefd=False)"), "test_a_call", "answered a TextIOWrapper: answer plain JSON"),
    "foreign error": (('ApiError("there is none", status=404)', "OSError(5)"), "test_a_call_that_is_refused", "OSError"),
    "no error": (
        ('raise ApiError("there is none", status=404)', "return None"),
        "test_a_call_that_is_refused",
        "was meant to be refused, and answered None",
    ),
    "foreign error of compile": (
        ('ServerError("there is no such folder")', 'FileNotFoundError("x")'),
        "test_what_cannot_be_compiled",
        "compile raised FileNotFoundError: x. Raise ServerError or ConfigError",
    ),
    "a broken thing is compiled": (
        ('raise ServerError("there is no such folder")', "pass"),
        "test_what_cannot_be_compiled",
        "the settings of `broken` were compiled, to 1 functions",
    ),
    "early constructor": (
        ("self.busy = server, ", "self.busy = [*(server.folder / server.settings.path).iterdir()] and server, "),
        "test_to_make_it_does_nothing",
        "the constructor raised FileNotFoundError",
    ),
    "close before use": (
        ("async def close(self) -> None:\n        pass", "async def close(self) -> None:\n        self.session.close()"),
        "test_it_can_be_closed",
        "close raised AttributeError",
    ),
    "half done": (
        ('return ["milk"]', "assert not self.busy\n        self.busy = True\n        import asyncio\n"
         '        await asyncio.sleep(0)\n        self.busy = False\n        return ["milk"]'),
        "test_a_cancelled_call_is_over",
        "the call after a cancelled one raised AssertionError",
    ),
}  # fmt: skip


def test_a_good_one_passes(failures: Failures) -> None:
    """A source without mistakes has no failure."""
    assert failures(GOOD) == {}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_told(told: Told, mistake: str) -> None:
    """In the test that is about it, in one message, without our own frames."""
    told(GOOD, *MISTAKES[mistake])
