"""Conformance tests of executors: inherit `ExecutorConformance`, and say how to make yours."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any, ClassVar

import pytest
from doorward import File, LimitExceeded, Limits, Unsupported

from doorward_testing.door import Door, LastFirst, other_names
from doorward_testing.plan_conformance import PlanConformance


class ExecutorConformance(PlanConformance):
    """For executors. Override `executor`: a fresh instance; and `language`, if its programs are not Python:
    `typescript` or `javascript`. For one of CPython, with files and threads, inherit `FullPythonConformance`."""

    @pytest.mark.anyio
    async def test_value(self, host: Any) -> None:
        """The value is `result` if it is set, else the last expression."""
        values = self.programs.values
        for (code, value), (ended, _) in zip(values.items(), await self.each(host, list(values)), strict=True):
            assert (ended.error, ended.value) == (None, value), code

    @pytest.mark.anyio
    async def test_calls(self, host: Any) -> None:
        """Catalog functions are called plainly or awaited, imported as module or by name."""
        codes = self.programs.calls
        for code, (ended, door) in zip(codes, await self.each(host, codes), strict=True):
            assert (ended.error, ended.value) == (None, 3), code
            assert door.made >= 1, code

    @pytest.mark.anyio
    async def test_the_error_of_an_api_can_be_caught(self, host: Any) -> None:
        """As `doorward.ApiError`, under any name, with status, body and retry_after. Other errors are not caught so."""
        for code, (ended, _) in zip(
            self.programs.catching_api_errors, await self.each(host, self.programs.catching_api_errors), strict=True
        ):
            assert (ended.error, ended.value) == (None, [429, 1.5]), code

    @pytest.mark.anyio
    async def test_an_error_of_an_api_that_is_not_handled(self, host: Any) -> None:
        """The failure is an ApiError with the agent's lines, also if it was caught and raised again."""
        for code, (ended, _) in zip(
            self.programs.raising_api_errors, await self.each(host, self.programs.raising_api_errors), strict=True
        ):
            assert (ended.error.type, ended.error.message) == ("ApiError", "calc.fail answered 404"), code
            assert code.splitlines()[ended.error.line - 1].startswith("    "), code
            assert all("__" not in frame.function for frame in ended.error.frames), code

    @pytest.mark.anyio
    async def test_the_error_of_a_tool(self, host: Any) -> None:
        """It is a `doorward.ToolError` with the tool's text, and no ApiError; an ApiError is no ToolError."""
        codes = [*self.programs.catching_tool_errors, *self.programs.raising_tool_errors]
        for code, (ended, _) in zip(codes, await self.each(host, codes), strict=True):
            if code in self.programs.catching_tool_errors:
                assert (ended.error, ended.value) == (None, "the tool says no"), code
            else:
                assert (ended.error.type, ended.error.message) == ("ToolError", "the tool says no"), code
                assert ended.error.line >= 3, code  # where it was called, or caught and raised again

    @pytest.mark.anyio
    async def test_programs_of_other_systems(self, host: Any) -> None:
        """The names of other systems for servers, functions and helpers work, unless a program defines them itself."""
        if not (codes := self.programs.other_systems):
            pytest.skip(f"other systems have no names for {self.language}")
        if self.language == "python" and other_names() is None:
            pytest.skip("doorward-compat is not installed")
        for code, (ended, _) in zip(codes, await self.each(host, codes), strict=True):
            assert (ended.error, ended.value) == (None, 3), code

    @pytest.mark.anyio
    async def test_a_function_can_be_handed_to_pages(self, host: Any) -> None:
        """As itself or by its name."""
        assert await self.value_of(host, self.programs.handing) == ["calc.add"] * 3

    @pytest.mark.anyio
    async def test_a_program_can_ask_what_there_is(self, host: Any) -> None:
        """Of servers, their functions, `doorward` and what is in it, by the means of the language."""
        for (code, value), (ended, _) in zip(
            self.programs.describing.items(), await self.each(host, list(self.programs.describing)), strict=True
        ):
            assert (ended.error, ended.value) == (None, value), code
        code, names = self.programs.helping
        ended, door = await self.run(host, code)
        assert (ended.error, door.printed.splitlines()) == (None, [f"what {name} is" for name in names])

    @pytest.mark.anyio
    async def test_a_file_is_read_without_files(self, host: Any) -> None:
        """`doorward.read` answers with a value, or with bytes as they are, called or awaited."""
        door = Door()
        door.files = {"doorward://results/1": File(bytes(range(256)), "image/png")}
        ended, _ = await self.run(host, self.programs.reading, door=door)
        assert (ended.error, ended.value) == (None, [bytes(range(256)), b"\0\1\2"])

    @pytest.mark.anyio
    async def test_items_and_pages_in_loops(self, host: Any) -> None:
        """Plain loops and `async for` both work."""
        for code, (ended, _) in zip(self.programs.paging, await self.each(host, self.programs.paging), strict=True):
            assert (ended.error, ended.value) == (None, 2), code

    @pytest.mark.anyio
    async def test_a_reply_has_value_status_and_headers(self, host: Any) -> None:
        """Read as attributes or by keys; as the value of a program it is an object of the three."""
        for code, (ended, _) in zip(self.programs.replying, await self.each(host, self.programs.replying), strict=True):
            assert (ended.error, ended.value) == (None, [3, 201, "/sums/7"]), code
        whole = await self.value_of(host, self.programs.reply)
        assert whole == {"value": 1, "status": 201, "headers": {"location": "/sums/7", "etag": '"7"'}}

    @pytest.mark.anyio
    async def test_parameters_are_data(self, host: Any) -> None:
        """New values reach the program unchanged, whatever characters they hold."""
        value = 'C:\\new\n\'"""{x}'
        ended, _ = await self.run(host, self.programs.parameter, params={"city": value})
        assert ended.value == value

    @pytest.mark.anyio
    async def test_error_has_the_agents_line(self, host: Any) -> None:
        """An uncaught error says its type, message and line in the agent's own code; what was printed is kept."""
        code, type, line = self.programs.failing
        ended, door = await self.run(host, code)
        assert (ended.error.type, ended.error.line) == (type, line)
        assert "before" in door.printed

    @pytest.mark.anyio
    async def test_there_is_nothing_to_reach(self, host: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        """Neither environment nor files of the host can be read."""
        monkeypatch.setenv("HOST_CANARY", "x")
        (secret := host.folder / "secret.txt").write_text("x")
        for code in self.programs.reaching:
            with contextlib.suppress(Unsupported):  # it has no files at all
                assert (await self.run(host, code.replace("PATH", repr(str(secret)))))[0].error is not None, code

    unprobed: ClassVar[Mapping[str, str]] = {}
    """Probes that say nothing about this executor, by name, each with the reason."""

    @pytest.mark.anyio
    @pytest.mark.timeout(300)
    async def test_isolation(self, host: Any) -> None:
        """Programs that reach for the host, for other processes, for privileges and beyond their limits get nothing:
        no probe of `doorward sandbox probe` finds a hole. See `doorward_jail.probes`."""
        found = await self.probed(host)
        assert {name: probed.says for name, probed in found.items() if probed.held is False} == {}

    async def probed(self, host: Any) -> dict[str, Any]:
        """What the probes say of this executor, by their names, without those that say nothing about it."""
        from doorward_jail import probe

        executor = self.executor(host)
        try:
            found = await probe(executor, Limits(memory_bytes=128 * 2**20, processes=32))
        finally:
            await executor.close()
        assert self.unprobed.keys() <= {each.probe for each in found}
        return {each.probe: each for each in found if each.probe not in self.unprobed}

    @pytest.mark.anyio
    async def test_memory_is_limited(self, host: Any) -> None:
        """A program that takes all memory ends itself and nothing else."""
        with pytest.raises(LimitExceeded, match="the program needed more memory than its limit of 64 MiB"):
            await self.run(host, self.programs.filling, limits=Limits(memory_bytes=64 * 2**20))

    @pytest.mark.anyio
    async def test_calls_are_made_at_the_same_time(self, host: Any) -> None:
        """Calls that are awaited together are all under way before one is answered; values come in order."""
        assert await self.value_of(host, self.programs.meeting) == [50] * 50
        assert await self.value_of(host, self.programs.waiting) == [60, 1, 30]

    @pytest.mark.anyio
    async def test_a_program_goes_on_in_the_order_of_the_answers(self, host: Any) -> None:
        """Also if they come together: a program that runs again is answered in the same order."""
        ended, door = await self.run(host, self.programs.going_on, door=LastFirst())
        assert ended.error is None, ended.error
        assert [call[:12] for call in door.asked[3:]] == ["calc.echo [3", "calc.echo [2", "calc.echo [1"]

    @pytest.mark.anyio
    async def test_arguments_and_answers_are_what_they_are(self, host: Any) -> None:
        """JSON of every kind passes the door unchanged in both directions."""
        sent = [
            None,
            True,
            0,
            -1.5,
            2**53,
            "äöü😀 \x00\n\"'\\",
            [],
            {},
            {"a b": [1, {"": None}]},
            "x" * 300_000,
            list(range(10_000)),
        ]
        came = await self.value_of(host, self.programs.echoing, params={"x": sent})
        assert [(type(value), value) for value in came] == [(type(value), value) for value in sent]

    @pytest.mark.anyio
    async def test_whole_numbers_are_numbers_of_any_size(self, host: Any) -> None:
        """A number beyond 64 bits is a number to a program, and passes the door unchanged."""
        assert await self.value_of(host, self.programs.numbers) == [True, True, 1]

    @pytest.mark.anyio
    async def test_prints_come_in_order(self, host: Any) -> None:
        """All output comes, also many lines, and text without an end of line."""
        ended, door = await self.run(host, self.programs.printing)
        assert ended.error is None
        assert door.printed == "".join(f"{i}\n" for i in range(2000)) + "ä-b."

    @pytest.mark.anyio
    async def test_more_output_than_is_kept(self, host: Any) -> None:
        """Output beyond the limit is dropped, not what came before it; the program ends as usual."""
        door = Door()
        door.room = 1000
        ended, _ = await self.run(host, self.programs.flooding, door=door, limits=Limits(output_bytes=1000))
        assert ended.value == 5
        assert door.printed.startswith("".join(f"{i}\n" for i in range(250)))

    @pytest.mark.anyio
    async def test_a_syntax_error_has_its_line(self, host: Any) -> None:
        """No part of the program has run."""
        code, line = self.programs.misspelt
        ended, door = await self.run(host, code)
        assert (ended.error.type, ended.error.line, door.printed) == ("SyntaxError", line, "")

    @pytest.mark.anyio
    async def test_a_cancelled_run_is_over(self, host: Any) -> None:
        """It is over soon, whatever it does. Its output has come, and the next sandbox works."""
        for code in self.programs.endless.values():
            await self.cancelled(host, code)

    @pytest.mark.anyio
    async def test_a_program_that_runs_again(self, host: Any) -> None:
        """With the same seed it draws the same numbers, in any sandbox. It reads the times that it is given, and then
        what the time is; what it newly read is told, before each call. Without both, it finds others."""
        if not self.executor(host).capabilities().repeats:
            pytest.skip("it repeats no program")
        code, seed = self.programs.repeating, bytes(range(32))
        first, door = await self.run(host, code, seed=seed)
        again, same = await self.run(host, code, seed=seed, door=Door(given=door.read))
        assert first.error is None
        assert (again, same.printed, same.asked) == (first, door.printed, door.asked)
        assert same.read == []
        assert door.told == [min(number + 1, len(door.read)) for number in range(len(first.value))]
        further, new = await self.run(host, code, seed=seed, door=Door(given=door.read[:2]))
        assert [old == new for old, new in zip(first.value, further.value, strict=True)] == [
            not (2 <= number < len(door.read)) for number in range(len(first.value))
        ]
        assert len(new.read) == len(door.read) - 2
        assert not {*(await self.value_of(host, code, seed=b"x" * 32))} & {*first.value}

    @pytest.mark.anyio
    async def test_sessions(self, host: Any) -> None:
        """Variables, functions and imports are there for the next run of the session, also after an error, but not for
        another session."""
        executor = self.executor(host)
        if not executor.capabilities().sessions:
            pytest.skip("it keeps no sessions")
        try:
            begins, fails, goes_on, has_none, is_unknown = map(self.program, self.programs.session)
            failed, unknown = self.programs.session_errors
            one, other = [await executor.open(begins, session=True) for _ in range(2)]
            assert (await one.run(begins, Door())).value == 1
            assert (await one.run(fails, Door())).error.type == failed
            assert (await one.run(goes_on, Door())).value == "42"
            assert (await one.run(has_none, Door())).value is None
            assert (await other.run(is_unknown, Door())).error.type == unknown
            await one.close()
            assert (await other.run(self.program("2"), Door())).value == 2
            await other.close()
        finally:
            await executor.close()
