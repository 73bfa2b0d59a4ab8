"""Conformance tests of sources: inherit `SourceConformance`, and say which class it is, its settings and one call."""

from __future__ import annotations

import asyncio
import json
import keyword
from collections.abc import Mapping
from typing import Any

import pytest
from doorward import Call, Compiled, ConfigError, DoorwardError, File, Function, Reply, ServerError
from doorward.values import is_plain

from doorward_testing.conformance.base import fail, only, require
from doorward_testing.conformance.drivers import DriverConformance

SERVER = "conformance"
"""The name of the server under test."""


class SourceConformance(DriverConformance):
    """For sources. Say `driver`; override `settings`, what stands in `[servers.NAME]` but for `source`, and `example`,
    one call that succeeds. `broken` and `refused` are worth saying, too."""

    kind = "source"

    def example(self, host: Any) -> tuple[str, Mapping[str, Any]]:
        """The name of a function, and arguments with which it succeeds."""
        self.say('def example(self, host): return "find", {"words": "milk"}  # one call that succeeds')

    def refused(self, host: Any) -> tuple[str, Mapping[str, Any]] | None:
        """A call whose arguments fit the schema, and which the upstream refuses."""
        return None

    def broken(self, host: Any) -> dict[str, Any] | None:
        """Settings with which nothing can be compiled: a document that is not there, for example."""
        return None

    def source(self, host: Any, settings: dict[str, Any] | None = None) -> Any:
        """A fresh instance. Override this where `driver` takes more than a context."""
        given = self.settings(host) if settings is None else settings
        return self.driver(host.server(self.driver.Settings, given, name=SERVER))

    async def compiled(self, host: Any) -> Compiled:
        """What a fresh instance compiles."""
        source = self.source(host)
        try:
            await source.fingerprint()
            compiled = await source.compile()
        finally:
            await source.close()
        require(isinstance(compiled, Compiled), f"compile answered {compiled!r}: return a doorward.Compiled")
        require(compiled.functions, "the source compiled no function: give it `settings` with which it has one")
        return compiled  # type: ignore[no-any-return]

    def test_to_make_it_does_nothing(self, host: Any) -> None:
        """The constructor neither reads nor connects: settings that are of no use are no matter yet."""
        with only((), "the constructor", "Open files and connections in the first method that needs them."):
            self.source(host, self.broken(host) or self.settings(host))

    @pytest.mark.anyio
    async def test_names_are_unique_identifiers(self, host: Any) -> None:
        """Every function has a Python name of its own within its server."""
        names = [function.name for function in (await self.compiled(host)).functions]
        odd = [name for name in names if not name.isidentifier() or keyword.iskeyword(name)]
        require(not odd, f"no Python identifiers: {odd}; doorward.values.python_name makes them")
        twice = sorted({name for name in names if names.count(name) > 1})
        require(
            not twice, f"given to several functions: {twice}; doorward.values.unique_names makes names of their own"
        )

    @pytest.mark.anyio
    async def test_functions_belong_to_their_server(self, host: Any) -> None:
        """`Function.server` is the name that the context gave."""
        others = {function.server for function in (await self.compiled(host)).functions} - {SERVER}
        require(not others, f"functions of the server {SERVER!r} say server={sorted(others)}: use `server.name`")

    @pytest.mark.anyio
    async def test_schemas_are_valid(self, host: Any) -> None:
        """The parameters are an object; they, what is returned and the definitions are JSON Schema 2020-12, in which
        every `$ref` leads somewhere."""
        compiled = await self.compiled(host)
        for function in compiled.functions:
            what = f"the parameters of {function.name}"
            require(
                isinstance(function.parameters, Mapping) and function.parameters.get("type") == "object",
                f'{what} are not {{"type": "object", "properties": {{…}}}}: {function.parameters!r}',
            )
            odd = [name for name in function.parameters.get("properties", ()) if not is_plain(name)]
            require(
                not odd,
                f"{what} are no Python identifiers: {odd}; doorward.values.python_name makes them, and `names` of the "
                "Function says what the upstream calls each",
            )
            _check_schema(what, function.parameters, compiled)
            if function.returns is not None:
                _check_schema(f"what {function.name} returns", function.returns, compiled)

    @pytest.mark.anyio
    async def test_functions_are_plain_data(self, host: Any) -> None:
        """The stored parts of a function are JSON."""
        for function in (await self.compiled(host)).functions:
            for part in ("parameters", "returns", "names", "data"):
                try:
                    json.dumps(getattr(function, part), allow_nan=False)
                except (TypeError, ValueError) as error:
                    fail(f"{part} of {function.name} are stored, and are no JSON: {error}")

    @pytest.mark.anyio
    async def test_fingerprint_is_stable(self, host: Any) -> None:
        """It is a text, and an unchanged document has an unchanged one."""
        found = []
        for _ in range(2):
            source = self.source(host)
            found.append(await source.fingerprint())
            await source.close()
        wrong = [one for one in found if not (isinstance(one, str) and one)]
        require(not wrong, f"fingerprint answered {wrong[:1]}: return a text that is not empty, a hash for example")
        require(found[0] == found[1], f"fingerprints of the same thing differ: {found[0]!r}, {found[1]!r}")

    @pytest.mark.anyio
    async def test_a_call(self, host: Any) -> None:
        """A call succeeds, by hand and through a gateway, whose answer is plain data."""
        name, arguments = self.example(host)
        source = self.source(host)
        try:
            call = await self._call(source, name, arguments)
            with only((), f"call({name!r})", "This call is meant to succeed."):
                answer = await source.call(call)
        finally:
            await source.close()
        odd = _odd(answer.value if isinstance(answer, Reply) else answer)
        require(not odd, f"call({name!r}) answered {odd}: answer plain JSON values, bytes, or a Reply with either")
        host.install("source", "under_test", self.driver)
        servers = {SERVER: {"source": "under_test", **self.settings(host)}}
        async with host.gateway({"store": "memory", "servers": servers}) as gate:
            try:
                await gate.call(f"{SERVER}.{name}", dict(arguments))
            except DoorwardError as error:
                fail(f"{name} succeeds by hand and not through a gateway: {error}\n{error.hint or ''}".rstrip())

    @pytest.mark.anyio
    async def test_a_call_that_is_refused(self, host: Any) -> None:
        """An upstream's refusal is an error of Doorward, with a message; nothing else is raised."""
        if (refused := self.refused(host)) is None:
            pytest.skip("override `refused`: a call that the upstream refuses")
        source = self.source(host)
        try:
            call = await self._call(source, *refused)
            instead = "Raise ApiError, ServerError or InvalidArguments, or agents read that the source is defect."
            with only(DoorwardError, f"call({refused[0]!r})", instead):
                value = await source.call(call)
                fail(f"call({refused[0]!r}) was meant to be refused, and answered {value!r}: raise an error")
        finally:
            await source.close()

    @pytest.mark.anyio
    async def test_what_cannot_be_compiled(self, host: Any) -> None:
        """A document or an upstream that is of no use is a ServerError or a ConfigError."""
        if (broken := self.broken(host)) is None:
            pytest.skip("override `broken`: settings with which nothing can be compiled")
        source = self.source(host, broken)
        try:
            with only(
                (ServerError, ConfigError), "compile", "Raise ServerError or ConfigError, and say what is wrong."
            ):
                await source.fingerprint()
                compiled = await source.compile()
                fail(f"the settings of `broken` were compiled, to {len(compiled.functions)} functions: raise an error")
        finally:
            await source.close()

    @pytest.mark.anyio
    async def test_a_cancelled_call_is_over(self, host: Any) -> None:
        """A run may end while a call is under way. The next call works."""
        name, arguments = self.example(host)
        source = self.source(host)
        try:
            call = await self._call(source, name, arguments)
            for turns in range(3):
                calling = asyncio.ensure_future(source.call(call))
                for _ in range(turns):
                    await asyncio.sleep(0)
                calling.cancel()
                done, _ = await asyncio.wait([calling], timeout=CANCEL_SECONDS)
                require(done, "a cancelled call goes on: let CancelledError pass")
            with only((), "the call after a cancelled one", "Leave nothing half done when a call is cancelled."):
                await source.call(call)
        finally:
            await source.close()

    @pytest.mark.anyio
    async def test_it_can_be_closed(self, host: Any) -> None:
        """Without having been used, and a second time."""
        for uses in (False, True):
            source = self.source(host)
            with only((), "close", "Give back what was opened, if anything was."):
                if uses:
                    await source.fingerprint()
                    await source.compile()
                await source.close()
                await source.close()

    async def _call(self, source: Any, name: str, arguments: Mapping[str, Any]) -> Call:
        await source.fingerprint()
        functions: dict[str, Function] = {function.name: function for function in (await source.compile()).functions}
        require(name in functions, f"there is no function {name!r}; compile found {sorted(functions)[:10]}")
        return Call(functions[name], dict(arguments))


CANCEL_SECONDS = 60.0
"""How long a cancelled call may take to end."""


def _odd(value: Any) -> str:
    """What in an answer is neither JSON nor bytes; empty if there is nothing."""
    match value:
        case None | bool() | int() | float() | str() | bytes() | File():
            return ""
        case Mapping():
            return next((odd for pair in value.items() for part in pair if (odd := _odd(part))), "")
        case list() | tuple():
            return next((odd for part in value if (odd := _odd(part))), "")
        case _:
            return f"a {type(value).__name__}"


def _check_schema(what: str, schema: Any, compiled: Compiled) -> None:
    import jsonschema_rs

    try:
        plain = json.loads(json.dumps({"$defs": dict(compiled.definitions), **schema}))
        jsonschema_rs.Draft202012Validator(plain, validate_formats=False)
    except (TypeError, ValueError) as error:
        fail(f"{what} are no valid JSON Schema 2020-12: {getattr(error, 'message', error)}")
