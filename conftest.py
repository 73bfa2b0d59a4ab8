"""What holds for the tests of all folders, and what several of them use. (Not in `tests/`: `core/tests` is a package of
that name.)

* A test leaves its process as it found it, so that none depends on which ones ran before it.
* A test that is not marked `slow` starts no process, and does not wait for time to pass: `make test` is green on any
  machine, however busy. What it starts is noticed here; what it waits for, in `tests/test_habits.py`.
* hypothesis has no clock: how long an example takes says how busy the machine is. `make test` takes the same examples
  each time (the profile `same`); new ones are tried by `make test-all`, and many of them by `make shuffle`.
* A server of the standard library keeps as many connections waiting as any test opens at once.
* A test that needs what is absent is skipped with "… is absent: …". `--absent FILE` lists these, for `make peers`;
  under DOORWARD_PEERS=required, which that and `.ci/run` set, they fail.
"""

from __future__ import annotations

import contextlib
import gc
import inspect
import logging
import os
import re
import signal
import socketserver
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Generator, Iterator
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any
from zlib import crc32

import anyio
import hypothesis
import pytest

pytest_plugins = ["pytester"]  # for the tests of the testing kit; pytest takes it only from here

REQUIRED = os.environ.get("DOORWARD_PEERS") == "required"
"""Read at once: tests change the environment."""

SEEDS = os.environ.get("DOORWARD_SEEDS", "")
"""A folder with the published documents of other systems, which tests read examples from."""

hypothesis.settings.register_profile(
    "doorward", deadline=None, max_examples=40, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.register_profile(
    "same", hypothesis.settings.get_profile("doorward"), derandomize=True, max_examples=30
)
hypothesis.settings.register_profile("many", hypothesis.settings.get_profile("doorward"), max_examples=1000)
hypothesis.settings.load_profile("doorward")

# Tests ask a server a hundred things at once. Out of a queue of 5, which is the standard library's, the rest fall, and
# are sent again after seconds.
socketserver.TCPServer.request_queue_size = 512

_told_by_the_server = socketserver.BaseServer.handle_error


def _told_unless_hung_up(server: socketserver.BaseServer, request: Any, client: Any) -> None:
    """A client that hangs up before its answer is what many tests are about: no traceback among their dots."""
    if not isinstance(sys.exc_info()[1], ConnectionError):
        _told_by_the_server(server, request, client)


socketserver.BaseServer.handle_error = _told_unless_hung_up  # type: ignore[method-assign]

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # in the background of a shell; what tests start would inherit it
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session", autouse=True)
def _seeds_are_no_setting() -> Iterator[None]:
    """A gateway that a test makes in its process would refuse a variable of no setting."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("DOORWARD_SEEDS", raising=False)
        yield


@pytest.fixture(scope="session", autouse=True)
def _nobodys_state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A project that names no folder for its state has it below the home of whoever runs the tests, where a later
    session would find it again."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield


@pytest.fixture(scope="session", autouse=True)
def _patient_gateways() -> Iterator[None]:
    """A person waits for no server that does not answer; a test on a busy machine waits until one is compiled."""
    from doorward import gateway

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gateway, "COMPILE_WAIT_SECONDS", 60.0)
        yield


@pytest.fixture(scope="session")
def seeds() -> Path:
    """The folder of other systems' documents."""
    if not SEEDS:
        pytest.skip("DOORWARD_SEEDS names no folder with the documents of other systems")
    return Path(SEEDS)


# What is absent


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--absent",
        type=Path,
        metavar="FILE",
        help="write there which tests were skipped for what is absent, a line each",
    )


def pytest_configure(config: pytest.Config) -> None:
    if (file := config.getoption("--absent")) and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Absences(file))
    if is_backwards(config):
        config.args.reverse()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if REQUIRED and is_absence(report):
        report.outcome, report.longrepr = "failed", report.longrepr[2]  # type: ignore[index]
    return report


def is_absence(report: pytest.TestReport) -> bool:
    return report.skipped and isinstance(report.longrepr, tuple) and " is absent: " in report.longrepr[2]


class Absences:
    """The tests that were skipped for what is absent."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.tests: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if is_absence(report):
            self.tests.append(report.nodeid.removesuffix("[NOTSET]"))  # what it has parameters for is absent, too

    def pytest_sessionfinish(self) -> None:
        self.file.parent.mkdir(parents=True, exist_ok=True)
        self.file.write_text("".join(f"{test}\n" for test in self.tests))


# What takes long

WHOLLY_SLOW = re.compile(r"^pytestmark = .*\bmark\.slow\b", re.MULTILINE)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Where what is slow is left out, files that are slow as a whole are not even imported."""
    if "not slow" not in config.option.markexpr or not re.fullmatch(r"test_.*\.py", collection_path.name):
        return None
    text = collection_path.read_text(encoding="utf-8")
    return (WHOLLY_SLOW.search(text) is not None and "mark.essential" not in text) or None


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makeitem(collector: pytest.Collector, obj: object) -> list[pytest.Item] | None:
    """Nor are functions that are slow multiplied by their parameters."""
    if "not slow" not in collector.config.option.markexpr or not inspect.isfunction(obj):
        return None
    marks = {mark.name for mark in getattr(obj, "pytestmark", ())}
    is_left_out = "slow" in marks and "essential" not in marks and not collector.get_closest_marker("essential")
    return [] if is_left_out else None


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is collected stays: nobody looks for garbage in it."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


# Where nothing is compiled yet


def is_backwards(config: pytest.Config) -> bool:
    """Whether this is every second worker. It collects from the end: so each compiles half of what is tested, of the
    tests and of the libraries that they import, and finds the other half compiled."""
    worker: str = getattr(config, "workerinput", {}).get("workerid", "gw0")
    return int(worker.removeprefix("gw")) % 2 == 1


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    if is_backwards(collector.config) and isinstance(collector, pytest.Directory):
        report.result.reverse()
    return report


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Generator[None, None, None]:
    """All workers have the same order of files, however they collected; then see `put_long_files_first`."""
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: str(item.path))
    yield
    put_long_files_first(items)


def put_long_files_first(items: list[pytest.Item]) -> None:
    """Those of real peers come first, then files with most slow tests, in whatever order the others are: at the end no
    worker waits for another one's long file."""
    slow = Counter(item.path for item in items if item.get_closest_marker("slow"))
    items.sort(key=lambda item: (not item.nodeid.startswith("tests/peers/"), -slow[item.path]))


PARTED = re.compile(r"tests/escape/test_escape\.py::.*?\[(?:monty|nsjail|docker)-")
"""Tests of a file that is so long that workers share it, with a part for each executor and each of `PARTS`."""

PARTS = 2


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Files stay together, but those that are parted."""
    if config.getoption("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    class Parted(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            part = PARTED.match(nodeid)
            return f"{part[0]}{crc32(nodeid.encode()) % PARTS}" if part else super()._split_scope(nodeid)

    return Parted(config, log)


# What starts processes

STARTS = frozenset({"subprocess.Popen", "os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.system"})
"""Events (PEP 578) of a process that is started."""

ASKED_ONCE = ("uname", "ldconfig")
"""What the standard library asks in each process for itself: `platform.processor`, `ctypes.util.find_library`."""

_started: list[str] = []


def _note_start(event: str, arguments: tuple[Any, ...]) -> None:
    if event in STARTS and not str(arguments[0] if arguments else "").endswith(ASKED_ONCE):
        _started.append(f"{event} {arguments}")


sys.addaudithook(_note_start)


def pytest_collection_finish() -> None:
    _started.clear()  # modules of tests may look for what there is
    gc.freeze()  # what was imported stays: to look through it again and again takes a tenth of the time


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, object, object]:
    """Where what is slow is left out, only what is essential starts processes."""
    result = yield
    started = _started.copy()
    _started.clear()
    if started and "not slow" in item.config.option.markexpr and not item.get_closest_marker("essential"):
        pytest.fail(f"It starts a process, so it is to be marked `slow`: {started[0]:.300}", pytrace=False)
    return result


# A test and its process


@pytest.fixture(autouse=True)
def _as_it_was() -> Iterator[None]:
    """What a test configures to log is as it was after it, and whatever else it changes in its process it has put back
    itself."""
    configured, handlers, level, before = (
        _structlog_is_configured(),
        list(logging.root.handlers),
        logging.root.level,
        _process(),
    )
    yield
    if (
        not configured and _structlog_is_configured()
    ):  # `capture_logs` puts back what was there, but not that it was the default
        sys.modules["structlog"].reset_defaults()
    logging.root.handlers[:], logging.root.level = handlers, level
    after = _process()
    assert {
        name: (before.get(name), after.get(name)) for name in before | after if before.get(name) != after.get(name)
    } == {}


def _structlog_is_configured() -> bool:
    is_configured = getattr(sys.modules.get("structlog"), "is_configured", None)  # a thread may be importing it
    return is_configured is not None and is_configured()


def _process() -> dict[str, Any]:
    mask = os.umask(0)
    os.umask(mask)
    environment = {f"${name}": value for name, value in os.environ.items() if name != "PYTEST_CURRENT_TEST"}
    signals = {number.name: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    return {"folder": os.getcwd(), "umask": mask, "sys.path": list(sys.path)} | signals | environment


Until = Callable[[Callable[[], object]], Awaitable[None]]


@pytest.fixture
def until() -> Until:
    """Waits until something is so, however long that takes; what never happens meets the test's `timeout`."""

    async def until(so: Callable[[], object]) -> None:
        while not so():  # noqa: ASYNC110
            await anyio.sleep(0.01)

    return until


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Moves the clocks of this test on by so many seconds: whoever waits for less is done. Threads that were there
    before, servers of other tests among them, keep theirs: what they began to wait for under this one would come after
    it."""
    passed, monotonic, epoch = 0.0, time.monotonic, time.time
    others = {thread.ident for thread in threading.enumerate()} - {threading.get_ident()}

    def later(seconds: float) -> None:
        nonlocal passed
        passed += seconds

    def moved() -> float:
        return 0.0 if threading.get_ident() in others else passed

    monkeypatch.setattr(time, "monotonic", lambda: monotonic() + moved())
    monkeypatch.setattr(time, "time", lambda: epoch() + moved())
    return later


@pytest.fixture(scope="session")
def docker_engine() -> Any:
    """The module `plugins/sandbox_docker/tests/engine.py`: real container engines."""
    if "docker_engine" not in sys.modules:
        file = Path(__file__).resolve().parent / "plugins/sandbox_docker/tests/engine.py"
        spec = spec_from_file_location("docker_engine", file)
        assert spec is not None
        assert spec.loader is not None
        sys.modules["docker_engine"] = module = module_from_spec(spec)
        spec.loader.exec_module(module)
    return sys.modules["docker_engine"]


class SmallDisk:
    """A folder on a disk of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def fill(self, left: int = 0) -> None:
        """Let nothing more fit on it than so many bytes, in whole pages, and what the last pages of its files have room
        for."""
        with (self.folder / "filler").open("wb", buffering=0) as file:
            with contextlib.suppress(OSError):
                while True:
                    file.write(bytes(65536))
            file.truncate(max(0, file.tell() - left))

    def free(self) -> None:
        """Make room again."""
        (self.folder / "filler").unlink(missing_ok=True)

    @contextlib.contextmanager
    def full(self, left: int = 0) -> Iterator[None]:
        """A block in which it is full: see `fill`."""
        self.fill(left)
        try:
            yield
        finally:
            self.free()


@pytest.fixture
def small_disk(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[SmallDisk]:
    """A disk that can be filled, of two megabytes or as many as its parameter says. Only root can make one."""
    folder = tmp_path / "disk"
    folder.mkdir()
    size = f"size={getattr(request, 'param', 2)}m,mode=700"
    mount = ["mount", "-t", "tmpfs", "-o", size, "tmpfs", str(folder)]
    try:
        made = subprocess.run(mount, capture_output=True, text=True, check=False)  # noqa: S603
    except FileNotFoundError:
        pytest.skip("there is no mount here")
    if made.returncode:
        pytest.skip(f"no disk can be mounted here: {made.stderr.strip()}")
    try:
        yield SmallDisk(folder)
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)  # noqa: S603, S607
