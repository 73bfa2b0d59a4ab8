"""The command line beside a scripted model, and a store for what it writes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import pytest
from doorward import Compiled, Function, Settings, Skipped
from doorward_enhance import Documentation, Enhancement
from doorward_testing import Cli
from doorward_testing.samples import CONFIG, Weather

__all__ = ["CONFIG", "Cli", "Weather"]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def _installed(doorward_host: Any) -> None:
    doorward_host.install_real("enhance", "observed", "text", "doorward-enhance", "doorward-store-sqlite")


GOOD = Enhancement(
    summary="Tells how warm it gets in a city",
    description="Ask for up to seven days.",
    notes={"city": "its English name", "moon": "no such parameter"},
    examples=({"city": "Oslo", "days": 3}, {"town": "Oslo"}),
    questions=("Do I need an umbrella tomorrow?",),
    probe={"city": "Oslo"},
    model="scripted",
    cost=0.01,
)


NAMES = ["get_forecast", "add_station", "fail", "crash", "echo_token", "sleep", "big", "raw"]
"""The functions of `weather`, in the order in which a model is asked about them."""


class Model:
    """A source that can be asked. `answer` makes its answer, or raises; `asked` is all that it was told."""

    Settings: ClassVar[type[Settings]] = Settings
    asked: ClassVar[list[Documentation]] = []
    answer: ClassVar[Callable[[Documentation], Any]]

    def __init__(self, server: Any) -> None:
        pass

    async def fingerprint(self) -> str:
        return "1"

    async def compile(self) -> Compiled:
        return Compiled([Function("model", "think")], skipped=[Skipped("x", "y")])

    async def call(self, call: Any) -> Any: ...

    async def enhance(self, documentation: Documentation) -> Enhancement:
        type(self).asked.append(documentation)
        answer = type(self).answer(documentation)
        return await answer if hasattr(answer, "__await__") else answer

    async def close(self) -> None: ...


@pytest.fixture
def model(doorward_host: Any) -> type[Model]:
    """The model of the server `model`, beside the server `weather`."""

    class Fresh(Model):
        asked: ClassVar[list[Documentation]] = []
        answer = staticmethod(lambda documentation: GOOD)

    doorward_host.install("source", "model", Fresh)
    doorward_host.write(f'{CONFIG}token = "${{TOKEN:-}}"\n[servers.model]\nsource = "model"\n')
    return Fresh
