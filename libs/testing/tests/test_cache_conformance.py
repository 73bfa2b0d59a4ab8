"""Each mistake in a cache fails the test that is about it, with a sentence that says what to do."""

from __future__ import annotations

import pytest
from doorward_testing import CacheConformance
from doorward_testing.samples import MemoryCache

from .conftest import Failures, Told

GOOD = """
import json

from doorward import Settings
from doorward.sandboxing import CachedProgram
from doorward_testing import CacheConformance


class FileCache:
    Settings = Settings

    def __init__(self, context) -> None:
        self.file = context.state / "programs.json"

    def read(self) -> dict:
        return json.loads(self.file.read_text()) if self.file.exists() else {}

    async def put(self, program: CachedProgram) -> str:
        found = self.read()
        for kept in found.values():
            if (kept["principal"], kept["digest"]) == (program.principal, program.digest):
                return kept["cache_id"]
        found[program.cache_id] = {name: getattr(program, name) for name in CachedProgram.__dataclass_fields__}
        self.file.write_text(json.dumps(found))
        return program.cache_id

    async def get(self, cache_id: str, principal: str) -> CachedProgram | None:
        kept = self.read().get(cache_id)
        if kept is None or kept["principal"] != principal:
            return None
        functions = kept["functions"]
        return CachedProgram(**{**kept, "functions": None if functions is None else tuple(functions)})

    async def close(self) -> None:
        pass


class TestFiles(CacheConformance):
    driver = FileCache
"""

LOST = 'kept["functions"]\n        return CachedProgram(**{**kept, "functions": None if functions is None else tuple(functions)})'

MISTAKES = {
    "sync get": (("async def get", "def get"), "test_the_driver_is_complete", "FileCache.get is not asynchronous"),
    "no id": (("        return program.cache_id\n", ""), "test_what_is_put_is_got", "put did not answer the id"),
    "nothing is kept": (
        ("self.file.write_text(json.dumps(found))", "pass"),
        "test_what_is_put_is_got",
        "nothing is kept under 'one' of 'alice'",
    ),
    "a list of functions": (
        (LOST, 'kept["functions"]\n        return CachedProgram(**kept)'),
        "test_values_are_what_they_were",
        "functions was ('a.b', 'c.*'), and came back as ['a.b', 'c.*']",
    ),
    "no functions": (
        ("None if functions is None else tuple(functions)", "tuple(functions) if functions else None"),
        "test_values_are_what_they_were",
        "functions was (), and came back as None",
    ),
    "small": (
        ("        found[program.cache_id] =", "        if len(program.code) > 9999: return program.cache_id\n        found[program.cache_id] ="),
        "test_values_are_what_they_were",
        "nothing is kept under 'one'",
    ),
    "for anybody": (
        ('kept is None or kept["principal"] != principal', "kept is None"),
        "test_belongs_to_its_principal",
        "the program of 'alice' was given to 'mallory'",
    ),
    "of any case": (
        ('kept["principal"] != principal', 'kept["principal"].lower() != principal.lower()'),
        "test_belongs_to_its_principal",
        "the program of 'alice' was given to 'ALICE'",
    ),
    "one id for all": (
        ('(kept["principal"], kept["digest"]) == (program.principal, program.digest)', 'kept["digest"] == program.digest'),
        "test_belongs_to_its_principal",
        "mallory's program got the id 'one'",
    ),
    "a new id": (
        ('return kept["cache_id"]', "pass"),
        "test_equal_program_keeps_its_id",
        "put answered 'two': a program of the same principal and digest keeps its id",
    ),
    "odd ids": (
        ("        kept = self.read()", "        if not cache_id.isalnum(): raise ValueError('no id')\n        kept = self.read()"),
        "test_ids_that_nobody_was_given",
        "raised ValueError: no id. Answer None.",
    ),
    "one at a time": (
        ("        found = self.read()\n", "        found = self.read()\n        import asyncio\n        await asyncio.sleep(0.01)\n"),
        "test_many_at_once",
        "nothing is kept under",
    ),
    "in memory": (
        ('/ "programs.json"', '/ __import__("secrets").token_hex()'),
        "test_it_lasts",
        "nothing is kept under 'one'",
    ),
    "close": (("        pass\n", "        self.connection.close()\n"), "test_it_can_be_closed", "close raised AttributeError"),
}  # fmt: skip


class TestMemory(CacheConformance):
    """The sample in memory."""

    driver = MemoryCache
    lasts = False


@pytest.mark.slow
def test_a_good_one_passes(failures: Failures) -> None:
    """A cache without mistakes has no failure."""
    assert failures(GOOD) == {}


@pytest.mark.slow
@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_told(told: Told, mistake: str) -> None:
    """In the test that is about it, in one message, without our own frames."""
    told(GOOD, *MISTAKES[mistake])
