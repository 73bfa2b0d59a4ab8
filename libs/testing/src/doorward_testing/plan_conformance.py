"""Conformance tests of executors that plan programs: part of `ExecutorConformance`."""

from __future__ import annotations

from typing import Any

import pytest
from doorward import ProgramResult

from doorward_testing.program_runner import ProgramRunner
from doorward_testing.programs import plans

_AFTER = "import calc\nmade = calc.withhold()\n"


class PlanConformance(ProgramRunner):
    """What `Capabilities.plans` and `plans_unread` promise."""

    @pytest.mark.anyio
    async def test_plans(self, host: Any) -> None:
        """A program can hand on what a plan withholds, and is ended where it looks at it."""
        if not self.executor(host).capabilities().plans:
            pytest.skip("it does not plan")
        all_ended = await self.each(host, [code for code, _ in plans.VALUES.values()], plan=True)
        told = zip(plans.VALUES.items(), all_ended, strict=True)
        assert {w: ended for (w, (_, value)), (ended, _) in told if (ended.error, ended.value) != (None, value)} == {}
        all_ended = await self.each(host, [*plans.CODE.values()], plan=True)
        types = {what: (ended.error or ended).type for what, (ended, _) in zip(plans.CODE, all_ended, strict=True)}
        assert types == dict.fromkeys(plans.CODE, "PlanStopped")
        all_ended = await self.each(host, [_AFTER + code for code in plans.LACKING.values()], plan=True)
        errors = {what: ended.error for what, (ended, _) in zip(plans.LACKING, all_ended, strict=True)}
        wrong = {w: e for w, e in errors.items() if not (e and e.line in (3, 4) and "did you mean 'id'?" in e.message)}
        assert wrong == {}

    @pytest.mark.anyio
    async def test_plans_of_programs_that_use_no_unknown_answer(self, host: Any) -> None:
        """They come to their end. All others have their value, or are ended where they use one."""
        found = self.executor(host).capabilities()
        if not found.plans_unread:
            pytest.skip("it plans none, or hands answers on")
        all_ended = await self.each(host, [code for code, _ in plans.UNREAD.values()], plan=True)
        told = zip(plans.UNREAD.items(), all_ended, strict=True)
        assert {w: ended for (w, (_, value)), (ended, _) in told if (ended.error, ended.value) != (None, value)} == {}
        for programs in (plans.VALUES, {what: (code, ...) for what, code in {**plans.CODE, **plans.READ}.items()}):
            all_ended = await self.each(host, [code for code, _ in programs.values()], plan=True)
            told = zip(programs.items(), all_ended, strict=True)
            wrong = {w: ended for (w, (_, value)), (ended, _) in told if not _is_planned(ended, value)}
            assert wrong == {}


def _is_planned(ended: ProgramResult, value: Any) -> bool:
    if ended.error is not None:
        return ended.error.type == "PlanStopped" and ended.error.line is not None
    return bool(ended.value == value)
