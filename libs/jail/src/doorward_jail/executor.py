"""The base of executors that run CPython in jails."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Generic, TypeVar

from doorward import Capabilities, Limits, PluginContext, Program, Settings
from pydantic import ByteSize, Field, NonNegativeFloat, NonNegativeInt, PositiveFloat, PositiveInt

from doorward_jail.bootstrap import PYTHON_ARGUMENTS
from doorward_jail.isolated import Isolated
from doorward_jail.jail import Jail, zygote_config
from doorward_jail.not_started import not_started
from doorward_jail.pool import Pool
from doorward_jail.reading import ReadsPython
from doorward_jail.sandbox import JailSandbox
from doorward_jail.speech import Speech


class JailSettings(Settings):
    """Settings of every executor that uses jails."""

    pool: NonNegativeInt = Field(2, description="Sandboxes kept ready ahead; 0: each run starts its own")
    most: PositiveInt = Field(
        16, description="Runs and open sessions at once; principals share them, and more wait, in turn"
    )
    wait: PositiveFloat = Field(30.0, description="Seconds that a program waits for a sandbox")
    idle: NonNegativeFloat = Field(
        300.0, description="Seconds without a run after which what is ready is ended; 0: never"
    )
    start_timeout: PositiveFloat = Field(60.0, description="Seconds that a jail may take to start, its packages loaded")
    scratch: ByteSize = Field(ByteSize(256 * 2**20), description="Files of one sandbox, all together")
    inodes: PositiveInt = Field(20_000, description="Files and folders of one sandbox")
    preload: list[str] = Field([], description="Modules that are loaded ahead, for all runs at once")


SettingsT = TypeVar("SettingsT", bound=JailSettings)


class JailExecutor(ReadsPython, Generic[SettingsT]):
    """The base of an executor that says how a Python is started in isolation (`start`).

    A jail is one such Python. Its first process, the zygote, runs no code of agents: it starts one process for each run
    or session, with walls of its own (see `doorward_jail.inside.walls`), and ends it afterwards. An executor with more
    settings is a `JailExecutor[MySettings]`.
    """

    Settings: ClassVar[type[Settings]] = JailSettings

    speaks = Speech()
    """How a sandbox is told of a program, and what its death means."""

    def __init__(self, context: PluginContext[SettingsT]) -> None:
        self.context = context
        self.settings = context.settings
        self.slots, self.wait = self.settings.most, self.settings.wait
        self._pool: Pool | None = None

    def capabilities(self) -> Capabilities:
        """See `doorward.Executor.capabilities`."""
        raise NotImplementedError

    async def start(self, command: Sequence[str], limits: Limits) -> Isolated:
        """Start a Python in isolation, with these arguments and `PYTHON_ENVIRONMENT`. It needs `/work`, `/tmp` and
        `/dev/null`.

        Raises: ExecutorError if this machine cannot isolate, with the reason and what to install.
        """
        raise NotImplementedError

    async def open(self, program: Program, *, session: bool = False) -> JailSandbox:
        """See `doorward.Executor.open`."""
        if self._pool is None:
            settings = self.settings
            self._pool = Pool(
                self._jail, ready=settings.pool, most=settings.most, wait=settings.wait, idle=settings.idle
            )
        return JailSandbox(await self._pool.take(program.limits), program.limits, self._pool, self.speaks)

    @property
    def ready(self) -> int:
        """How many sandboxes wait for a program."""
        return self._pool.ready if self._pool is not None else 0

    async def close(self) -> None:
        """End all sandboxes."""
        if self._pool is not None:
            await self._pool.close()
            self._pool = None

    async def _jail(self, limits: Limits) -> Jail:
        settings = self.settings
        try:
            isolated = await self.start(PYTHON_ARGUMENTS, limits)
        except OSError as error:
            raise not_started("the sandbox's Python cannot be started", "", why=str(error)) from None
        config = zygote_config(
            isolated.config,
            preload=settings.preload,
            scratch=settings.scratch,
            inodes=settings.inodes,
            processes=limits.processes,
            relayed=not isolated.passes_fds,
        )
        return await Jail.start(isolated, config, limits, settings.start_timeout)
