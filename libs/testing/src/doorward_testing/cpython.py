"""The tests that every executor of full CPython must pass, beside those of `ExecutorConformance`."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from doorward import File

from doorward_testing.door import Door
from doorward_testing.executors import ExecutorConformance
from doorward_testing.program_runner import program_of
from doorward_testing.programs import isolation
from doorward_testing.programs.full_python import ERRORS, REPEATING, STUBBORN, VALUES


class FullPythonConformance(ExecutorConformance):
    """For executors of CPython with files and threads. Override `executor`: a fresh instance."""

    @pytest.mark.anyio
    async def test_full_python(self, host: Any) -> None:
        """All features of Python work."""
        all_ended = await self.each(host, [code for code, _ in VALUES.values()])
        told = zip(VALUES.items(), all_ended, strict=True)
        assert {
            what: ended for (what, (_, value)), (ended, _) in told if (ended.error, ended.value) != (None, value)
        } == {}

    @pytest.mark.anyio
    async def test_errors_of_full_python(self, host: Any) -> None:
        """An error has its own type, and its line in the agent's code."""
        all_ended = await self.each(host, [code for code, *_ in ERRORS.values()])
        told = zip(ERRORS.items(), all_ended, strict=True)
        assert {
            what: ended for (what, (_, *error)), (ended, _) in told if [ended.error.type, ended.error.line] != error
        } == {}

    @pytest.mark.anyio
    async def test_a_program_of_full_python_runs_again(self, host: Any) -> None:
        """All that the standard library has to read the time and to draw numbers is as it was, and so is the order of
        sets."""
        if not self.executor(host).capabilities().repeats:
            pytest.skip("it repeats no program")
        first, door = await self.run(host, REPEATING, seed=b"seed" * 8)
        again, same = await self.run(host, REPEATING, seed=b"seed" * 8, door=Door(given=door.read))
        assert (first.error, len(first.value)) == (None, 25)
        assert [(old, new) for old, new in zip(first.value, again.value, strict=True) if old != new] == []
        assert same.read == []

    @pytest.mark.anyio
    @pytest.mark.parametrize("what", STUBBORN)
    async def test_stubborn_programs_are_over(self, host: Any, what: str) -> None:
        """If cancelled, they end like any other program."""
        await self.cancelled(host, f"print('begun')\n{STUBBORN[what]}")

    @pytest.mark.anyio
    async def test_files_that_a_program_leaves(self, host: Any) -> None:
        """Files in ./out have gone to the door at the end, also of a run that failed; other files have not."""
        code = (
            "open('x.txt', 'w').write('no')\nopen('out/a.csv', 'w').write('1,2')\n"
            "open('out/b.png', 'wb').write(bytes(range(256)))\n"
        )
        for end in ("5", "1 / 0"):
            _, door = await self.run(host, code + end)
            assert sorted(door.kept) == [("a.csv", "text/csv", b"1,2"), ("b.png", "image/png", bytes(range(256)))]

    @pytest.mark.anyio
    async def test_files_that_a_program_is_given(self, host: Any) -> None:
        """A parameter that is the URI of an artefact is the path of that file; `doorward.path` fetches any other."""
        door = Door()
        door.files = {
            f"doorward://results/{n}": File(f"{n},2".encode(), "text/csv", "report.csv") for n in ("one", "two")
        }
        code = (
            "import doorward\ndata = ''\nresult = [data, open(data).read(), open(doorward.path(other['uri'])).read()]"
        )
        params = {"data": "doorward://results/one", "other": {"uri": {"artefact": "doorward://results/two"}}}
        ended, _ = await self.run(host, code, door=door, params=params)
        assert ended.error is None, ended.error
        assert ended.value[1:] == ["one,2", "two,2"]
        assert ended.value[0] == "in/report.csv"

    @pytest.mark.anyio
    @pytest.mark.timeout(300)
    async def test_isolation(self, host: Any) -> None:
        """As of every executor; and as CPython can express all that is tried, each probe must have come to its end."""
        found = await self.probed(host)
        assert {name: probed.says for name, probed in found.items() if not probed.held} == {}

    @pytest.mark.anyio
    async def test_sandboxes_do_not_see_each_other(self, host: Any) -> None:
        """Two programs at the same time, of one executor: files, processes, listeners and shared memory of one are not
        there for the other, and it cannot end it."""
        executor, door = self.executor(host), Door()
        codes = [isolation.SHOWING, isolation.LOOKING]
        try:
            boxes = [await executor.open(program_of(code)) for code in codes]
            running = [box.run(program_of(code), door) for box, code in zip(boxes, codes, strict=True)]
            shown, looked = await asyncio.gather(*running)
            for box in boxes:
                await box.close()
        finally:
            await executor.close()
        assert (shown.error, shown.value) == (None, []), "who came by"
        assert (looked.error, looked.value) == (None, []), "what was found"

    @pytest.mark.anyio
    async def test_nothing_is_left_for_the_next(self, host: Any) -> None:
        """Neither files, nor changed modules, nor variables of the environment."""
        executor = self.executor(host)
        leave = "import builtins, json, os, sys\njson.left = builtins.left = 1\nsys.modules['left'] = json\n" + (
            "for f in ('/tmp/left', 'left', 'out/left'): open(f, 'w').close()\nos.environ['LEFT'] = '1'"
        )
        look = "import builtins, json, os, sys\n" + (
            "result = [hasattr(json, 'left'), hasattr(builtins, 'left'), 'left' in sys.modules, 'LEFT' in os.environ,\n"
            "  *[os.path.exists(f) for f in ('/tmp/left', 'left', 'out/left')]]"
        )
        try:
            for code, value in ((leave, None), (look, [False] * 7)):
                sandbox = await executor.open(program_of(code))
                ended = await sandbox.run(program_of(code), Door())
                assert ended.error is None, ended.error
                assert ended.value == value
                await sandbox.close()
        finally:
            await executor.close()
