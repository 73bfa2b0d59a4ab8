"""How a run begins: whether its principal may start one, and the program with its parameters and limits."""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from doorward.access.policy import narrowing
from doorward.access.rate_limit import RateLimit
from doorward.access.readiness import Readiness
from doorward.data.languages import PYTHON, named
from doorward.data.program_parameters import check, check_names, check_used
from doorward.model.errors import DoorwardError, InvalidArguments
from doorward.model.principals import person_of
from doorward.model.programs import CachedProgram, Limits, Outcome, Program
from doorward.runs.outcomes import failure

if TYPE_CHECKING:
    from doorward.access.principals import Principals
    from doorward.calls.artefacts import Artefacts
    from doorward.calls.withholding import Withholding
    from doorward.plugins.manager import Plugins


class Admission:
    """Decides before every run whether it may begin."""

    def __init__(
        self,
        limits: Limits,
        artefacts: Artefacts,
        withholding: Withholding,
        plugins: Plugins,
        readiness: Readiness,
        rate: RateLimit,
        principals: Principals,
    ) -> None:
        self.known = principals.known
        self._principals = principals
        self._limits = limits
        self._artefacts = artefacts
        self._rate = rate
        self._withholding = withholding
        self._plugins = plugins
        self.readiness = readiness

    async def admit(self, principal: str) -> None:
        """Count this run. Raises: LimitExceeded if the principal may start no more runs now; Busy."""
        self.readiness.admit()
        person, own = person_of(principal), self.limits(principal).rate
        if own != self._limits.rate:  # that of an endpoint counts beside that of all
            await self._rate.admit(principal, own)
        if await self._rate.admit(person):
            await self._withholding.look(person)
        self._withholding.admit(person)

    def limits(self, principal: str) -> Limits:
        """The limits of one run of a principal."""
        return self._principals.limits(principal, self._limits)

    async def prepared(
        self,
        code: str,
        principal: str,
        params: Mapping[str, Any] | None,
        *,
        known: Mapping[str, Any],
        language: str = PYTHON,
        session_id: str = "",
        **more: Any,
    ) -> tuple[Program, dict[str, Any]]:
        """A new program, and all its parameters with their values: those `known` with their defaults, and `params`.
        `more` as for `program`.

        Raises: InvalidProgram, InvalidArguments, StateError.
        """
        values = await self._artefacts.in_params(params or {}, principal)
        check({name: value for name, value in values.items() if name in known}, known)
        check_names(values)
        if not session_id:  # what earlier programs of a session have made may read it
            check_used(values, known, code)
        return self.program(code, principal, params=values, language=language, **more), {**known, **values}

    async def cached(
        self, kept: CachedProgram, principal: str, params: Mapping[str, Any] | None, **more: Any
    ) -> Program:
        """A kept program with other values for its parameters; `more` as for `program`.

        Raises: InvalidProgram, InvalidArguments, StateError.
        """
        values = await self._artefacts.in_params(params or {}, principal)
        check(values, kept.params)
        return self.program(
            kept.code,
            principal,
            params={**kept.params, **values},
            description=kept.description,
            functions=kept.functions,
            language=kept.language,
            cached=True,
            **more,
        )

    def program(
        self,
        code: str,
        principal: str,
        *,
        params: Mapping[str, Any] | None = None,
        description: str = "",
        functions: Sequence[str] | None = None,
        sampling: bool | None = None,
        timeout: float | None = None,
        show_bytes: int | None = None,
        language: str = PYTHON,
        cached: bool = False,
        plan: bool = False,
        argv: Sequence[str] = (),
    ) -> Program:
        """A program whose time begins now. Raises: InvalidArguments."""
        limits = self.limits(principal)
        if timeout is not None and not 0 < timeout <= limits.max_timeout:
            told = f"timeout is {timeout:g} s; at most {limits.max_timeout:g} s are allowed"
            raise InvalidArguments(told, hint="[limits] max_timeout of the configuration says how much.")
        limits = limits if timeout is None else replace(limits, timeout=float(timeout))
        if show_bytes is not None:
            if not 0 < show_bytes <= limits.output_bytes:
                told = f"show_bytes is {show_bytes}; 1 to {limits.output_bytes} can be shown"
                raise InvalidArguments(told, hint="A program reads all of a value: doorward.read(…).")
            limits = replace(limits, inline_bytes=show_bytes, cut_bytes=show_bytes)
        run, deadline = secrets.token_hex(8), time.monotonic() + limits.timeout
        may_call = narrowing(functions, sampling)
        return Program(
            code,
            params or {},
            description,
            may_call,
            self.known(principal),
            limits,
            run,
            deadline,
            language,
            plan=plan,
            seed=secrets.token_bytes(32),
            began=time.time(),
            cached=cached,
            argv=tuple(argv),
        )

    def refused(self, error: DoorwardError, code: str, principal: str, language: str = "") -> Outcome:
        """The outcome of a run that did not begin; observers get it, too."""
        outcome = Outcome(False, error=failure(error))
        self._plugins.hook.run_finished(
            program=Program(code, principal=principal, language=named(language) or PYTHON), outcome=outcome
        )
        return outcome
