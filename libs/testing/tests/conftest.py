"""What a conformance class says of a plugin that is given as a text."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import anyio.pytest_plugin
import doorward_testing.plugin
import pytest

PLUGINS = [anyio.pytest_plugin, doorward_testing.plugin]
"""All that the inner runs need. To look for what is installed takes a third of such a run."""

Failures = Callable[..., dict[str, str]]
"""Runs a test file. Returns: the failed tests by name, each with all that its author reads of it."""

Told = Callable[[str, tuple[str, str], str, str], None]
"""Asserts that a change of a good file fails this test, with this message and nothing of ours."""


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def _loaded() -> None:
    """What the inner runs import is forgotten after them: some of this can be loaded but once in a process, and the
    rest takes long."""
    for module in ("doorward.gateway", "http.server", "httpx2", "jsonschema_rs", "numpy.typing", "tomlkit"):
        import_module(module)
    import_module("httpx2").Client().close()


@pytest.fixture
def failures(_loaded: None, pytester: Any, monkeypatch: pytest.MonkeyPatch) -> Failures:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")

    def run(text: str, test: str = "") -> dict[str, str]:
        pytester.makepyfile(test_it=text)
        pytester.makeini("[pytest]\n")
        ended = pytester.inline_run("-k", test, plugins=PLUGINS)
        reports = [*ended.getreports("pytest_runtest_logreport"), *ended.getreports("pytest_collectreport")]
        return {report.nodeid.rpartition("::")[2]: str(report.longrepr) for report in reports if report.failed}

    return run


@pytest.fixture
def told(failures: Failures) -> Told:
    def check(good: str, change: tuple[str, str], test: str, message: str) -> None:
        assert change[0] in good
        found = failures(good.replace(*change), test)
        assert message in found[test], found
        assert "doorward_testing" not in found[test], found[test]

    return check
