"""One executor for a whole class of tests, where its start would take most of each."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any, ClassVar

import pytest

from doorward_testing.host import Host


class SharedExecutor:
    """Mixed into a class of executor tests, before its conformance class. Override `started`: all tests get what it
    answers. Each closes it, and it stays open until the last has ended."""

    environ: ClassVar[Mapping[str, str]] = {"HOST_CANARY": "x"}
    """Variables of our process from before its start: what the tests look for in sandboxes."""

    _shared: ClassVar[Any]

    def started(self, host: Any, request: pytest.FixtureRequest) -> Any:
        """A new executor. `request` has the fixtures of the class and of wider scopes."""
        raise NotImplementedError

    def executor(self, host: Any) -> Any:
        """That of the class."""
        return self._shared

    @pytest.fixture(scope="class")
    @classmethod
    def anyio_backend(cls) -> str:
        """Of one event loop for all tests, as the executor lives in it."""
        return "asyncio"

    @pytest.fixture(scope="class", autouse=True)
    async def _opened(
        self, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
    ) -> AsyncIterator[None]:
        from anyio.lowlevel import checkpoint

        with pytest.MonkeyPatch.context() as patch:
            for name, value in self.environ.items():
                patch.setenv(name, value)
            request.cls._shared = executor = self.started(Host(tmp_path_factory.mktemp("host")), request)
            patch.setattr(executor, "close", checkpoint)
            yield
        await executor.close()
