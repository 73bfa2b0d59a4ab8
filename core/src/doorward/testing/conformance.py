"""One abstract test class per kind of driver: inherit it, say how to make your driver, and its tests are yours."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from doorward.errors import ApiError, LimitExceeded, UnknownName
from doorward.secrets import Secret, Secrets
from doorward.testing import programs
from doorward.types import CachedProgram, Limits, Program


class _Async:
    @pytest.fixture
    def anyio_backend(self) -> str:
        return "asyncio"


class SourceConformance(_Async):
    """For sources. Override `source`: a fresh instance whose server has at least one function."""

    def source(self, host: Any) -> Any:
        raise NotImplementedError

    @pytest.mark.anyio
    async def test_names_are_unique_identifiers(self, host: Any) -> None:
        """Every function has a Python name that no other function of its server has."""
        source = self.source(host)
        await source.fingerprint()
        functions = (await source.compile()).functions
        names = [f.name for f in functions]
        assert names
        assert all(n.isidentifier() for n in names)
        assert len(set(names)) == len(names)
        await source.close()

    @pytest.mark.anyio
    async def test_fingerprint_is_stable(self, host: Any) -> None:
        """An unchanged document has an unchanged fingerprint."""
        first, second = self.source(host), self.source(host)
        assert await first.fingerprint() == await second.fingerprint()
        await first.close()
        await second.close()

    @pytest.mark.anyio
    async def test_functions_are_plain_data(self, host: Any) -> None:
        """What is stored of a function is JSON, and its parameters are an object."""
        source = self.source(host)
        await source.fingerprint()
        for function in (await source.compile()).functions:
            json.dumps([function.parameters, function.returns, function.data])
            assert function.parameters["type"] == "object"
        await source.close()


class AuthConformance(_Async):
    """For auth. Override `auth(host, environ)` (a driver that takes a secret from `${CANARY}`)."""

    def auth(self, host: Any, environ: dict[str, str]) -> Any:
        raise NotImplementedError

    def test_nothing_is_revealed_early(self, host: Any) -> None:
        """Making the auth does not need the secret: it is revealed with the first request."""
        self.auth(host, {}).create_auth()

    def test_settings_do_not_show_secrets(self) -> None:
        """The `repr` of a literal secret shows nothing of it."""
        assert "hunter2-hunter2" not in repr(Secret("hunter2-hunter2", Secrets(environ={})))


class CacheConformance(_Async):
    """For caches. Override `cache`: a fresh, empty instance."""

    def cache(self, host: Any) -> Any:
        raise NotImplementedError

    def program(self, cache_id: str = "one", principal: str = "alice", digest: str = "d") -> CachedProgram:
        return CachedProgram(cache_id, principal, "x = 1", "", {"x": 1}, None, {}, digest, time.time())

    @pytest.mark.anyio
    async def test_what_is_put_is_got(self, host: Any) -> None:
        """A program comes back as it was kept."""
        cache = self.cache(host)
        kept = self.program()
        assert await cache.put(kept) == "one"
        assert await cache.get("one", "alice") == kept
        await cache.close()

    @pytest.mark.anyio
    async def test_belongs_to_its_principal(self, host: Any) -> None:
        """Nobody else can name it, and an equal program of somebody else gets an id of its own."""
        cache = self.cache(host)
        await cache.put(self.program())
        assert await cache.get("one", "mallory") is None
        assert await cache.put(self.program("two", "mallory")) == "two"
        await cache.close()

    @pytest.mark.anyio
    async def test_equal_program_keeps_its_id(self, host: Any) -> None:
        """The same program kept twice has one id."""
        cache = self.cache(host)
        await cache.put(self.program())
        assert await cache.put(self.program("two")) == "one"
        await cache.close()


class _Door:
    """A door behind which one function adds, for executors under test."""

    def __init__(self) -> None:
        self.printed = ""
        self.made = 0

    def members(self, server: str) -> Any:
        return {"calc": ["add", "fail", "refuse"], "doorward": ["call", "pages"]}.get(server)

    def stub(self, server: str, names: Any) -> str:
        return "from typing import Any\n" + "".join(f"def {n}(*args: Any, **kwargs: Any) -> Any: ...\n" for n in names)

    async def call(self, function: str, args: Any, kwargs: Any) -> Any:
        self.made += 1
        if function == "calc.fail":
            status = kwargs.get("status", 404)
            raise ApiError(f"calc.fail answered {status}", status=status, body={"why": ["gone"], "args": list(args)}, retry_after=1.5)
        if function == "calc.refuse":
            raise LimitExceeded("too many calls")
        if function == "doorward.pages":
            return [args[0], kwargs]
        if function != "calc.add":
            raise UnknownName(f"there is no function {function!r}")
        return sum(args) + sum(kwargs.values())

    def print(self, text: str) -> bool:
        self.printed += text
        return True


class ExecutorConformance(_Async):
    """For executors. Override `executor`: a fresh instance."""

    def executor(self, host: Any) -> Any:
        raise NotImplementedError

    async def run(self, host: Any, code: str, **program: Any) -> tuple[Any, _Door]:
        executor, door = self.executor(host), _Door()
        asked = Program(code, deadline=time.monotonic() + 30, **program)
        sandbox = await executor.open(asked)
        try:
            return await sandbox.run(asked, door), door
        finally:
            await sandbox.close()
            await executor.close()

    @pytest.mark.anyio
    @pytest.mark.parametrize(("code", "value"), [("1 + 1", 2), ("result = [1]\n2", [1]), ("x = 1", None), ("{'a': (1, 2)}['a'][1]", 2)])
    async def test_value(self, host: Any, code: str, value: Any) -> None:
        """The value is `result` if it is set, else the last expression."""
        ended, _ = await self.run(host, code)
        assert ended.error is None
        assert ended.value == value

    @pytest.mark.anyio
    @pytest.mark.parametrize(
        "code",
        [
            "import calc\ncalc.add(1, b=2)",
            "from calc import add\nadd(1, 2)",
            "import calc\nawait calc.add(1, 2)",
            "import asyncio, calc\nsum(await asyncio.gather(calc.add(1), calc.add(2)))",
        ],
    )
    async def test_calls(self, host: Any, code: str) -> None:
        """Catalog functions are called plainly or awaited, imported as module or by name."""
        ended, door = await self.run(host, code)
        assert ended.error is None
        assert ended.value == 3
        assert door.made >= 1

    @pytest.mark.anyio
    @pytest.mark.parametrize("code", programs.CATCHING)
    async def test_the_error_of_an_api_can_be_caught(self, host: Any, code: str) -> None:
        """As `doorward.ApiError`, however it is named, with its status, body and retry_after; no other error is caught by it."""
        ended, _ = await self.run(host, code)
        assert ended.error is None, ended.error
        assert ended.value == [429, 1.5]

    @pytest.mark.anyio
    @pytest.mark.parametrize("code", programs.RAISING)
    async def test_an_error_of_an_api_that_is_not_handled(self, host: Any, code: str) -> None:
        """It says so, with the agent's lines, also where it was caught and raised again."""
        ended, _ = await self.run(host, code)
        assert (ended.error.type, ended.error.message) == ("ApiError", "calc.fail answered 404")
        assert code.splitlines()[ended.error.line - 1].startswith("    ")
        assert all("__" not in frame.function for frame in ended.error.frames)

    @pytest.mark.anyio
    async def test_a_function_can_be_handed_to_pages(self, host: Any) -> None:
        """As itself or by its name."""
        ended, _ = await self.run(host, "import calc, doorward\n[doorward.pages(f, x=1)[0] for f in (calc.add, calc.add, 'calc.add')]")
        assert ended.value == ["calc.add"] * 3

    @pytest.mark.anyio
    async def test_parameters_are_data(self, host: Any) -> None:
        """New values reach the program as they are, whatever characters they hold."""
        value = 'C:\\new\n\'"""{x}'
        ended, _ = await self.run(host, 'city: str = "London"\nresult = city', params={"city": value})
        assert ended.value == value

    @pytest.mark.anyio
    async def test_error_has_the_agents_line(self, host: Any) -> None:
        """An uncaught error says its type, message and line in the agent's own code; what was printed is kept."""
        ended, door = await self.run(host, "print('before')\n\ndef f():\n    return 1 / 0\n\nf()")
        assert (ended.error.type, ended.error.line) == ("ZeroDivisionError", 4)
        assert "before" in door.printed

    @pytest.mark.anyio
    async def test_there_is_nothing_to_reach(self, host: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        """Neither environment nor files of the host can be read."""
        monkeypatch.setenv("OF_THE_HOST", "secret")
        (file := host.folder / "of_the_host").write_text("secret")
        for code in ("import os\nresult = os.environ['OF_THE_HOST']", f"result = open({str(file)!r}).read()"):
            ended, _ = await self.run(host, code)
            assert ended.error is not None

    @pytest.mark.anyio
    async def test_memory_is_limited(self, host: Any) -> None:
        """A program that takes all memory ends itself and nothing else."""
        with pytest.raises(Exception, match="memory"):
            await self.run(host, "x = [0] * 10\nwhile True:\n    x = x + x", limits=Limits(memory=64 * 2**20))
