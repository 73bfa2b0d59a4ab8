"""Finding and loading plugins: what each failure says."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest
import structlog
from doorward import PLUGIN_API, PluginError, hookimpl
from doorward.config.install_hints import to_install
from doorward.config.installed_plugins import GROUPS, Entry, Index
from doorward.plugins.manager import Plugins

from ..conftest import Weather


def plugins(host: Any) -> Plugins:
    return Plugins(Index(host.entries))


@pytest.mark.parametrize(
    ("install", "said"),
    [
        ([], "no source named 'fake'; installed: none"),
        ([(Weather, "a-dist"), (Weather, "b-dist")], "is given by a-dist 1.0 and by b-dist 1.0"),
        (
            [(ImportError("No module named 'nosuchlib'"), "a-dist")],
            "of a-dist 1.0 does not import: ImportError: No module named 'nosuchlib'",
        ),
        ([(type("Old", (), {"PLUGIN_API": 0}), "a-dist")], f"is for plugin API 0, this is {PLUGIN_API}"),
        ([(type("Half", (), {"Settings": 1}), "a-dist")], "lacks fingerprint, compile, call, close"),
    ],
)
def test_driver_failures(host: Any, install: list[Any], said: str) -> None:
    """Missing, given twice, broken, of another API, incomplete: the message names the distribution."""
    for thing, distribution in install:
        host.install("source", "fake", thing, distribution=distribution)
    with pytest.raises(PluginError) as raised:
        plugins(host).driver("source", "fake")
    assert said in str(raised.value)


@pytest.mark.parametrize(
    ("kind", "thing"),
    [
        ("command", "import click\n\n@click.command()\ndef thing():\n    pass"),
        ("source", "from doorward_testing.samples import Weather as thing"),
    ],
)
def test_the_module_of_the_entry_point_says_its_api(tmp_path: Path, monkeypatch: Any, kind: str, thing: str) -> None:
    """A command is an object of click's, and a driver may be defined elsewhere: the plugin's own module counts."""
    (tmp_path / f"old_{kind}.py").write_text(f"PLUGIN_API = 99\n{thing}\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    entry = Entry(kind, "mine", EntryPoint("mine", f"old_{kind}:thing", GROUPS[kind]), "acme", "2.1")
    with pytest.raises(PluginError, match=rf"{kind} 'mine' of acme 2\.1 is for plugin API 99, this is {PLUGIN_API}"):
        Plugins(Index([entry])).driver(kind, "mine")


def test_a_wrong_hook_signature_is_named(host: Any) -> None:
    """A hook with an argument that does not exist is refused, naming plugin, distribution and argument."""

    class Wrong:
        @hookimpl
        def guard_program(self, program: Any, nonsense: Any) -> None: ...

    host.install("plugin", "wrong", Wrong(), distribution="acme")
    with pytest.raises(PluginError, match=r"'wrong' of acme 1\.0 does not fit its hook[\s\S]*nonsense"):
        plugins(host).load_hooks(["wrong"], lambda name, loaded: loaded)


def test_a_misspelt_hook_is_named(host: Any) -> None:
    """A hook that does not exist would never fire: refused."""

    class Misspelt:
        @hookimpl
        def guard_programme(self, program: Any) -> None: ...

    host.install("plugin", "misspelt", Misspelt())
    with pytest.raises(PluginError, match="guard_programme"):
        plugins(host).load_hooks(["misspelt"], lambda name, loaded: loaded)


def test_hooks_run_in_the_configured_order(host: Any) -> None:
    """The order of the configuration decides, not that of the file system; pluggy calls the last first."""
    seen: list[str] = []

    def make(name: str) -> Any:
        class Hook:
            @hookimpl
            def run_started(self, program: Any) -> None:
                seen.append(name)

        return Hook()

    for name in ("b", "a", "c"):
        host.install("plugin", name, make(name))
    loaded = plugins(host)
    loaded.load_hooks(["c", "a", "b"], lambda name, thing: thing)
    loaded.hook.run_started(program=None)
    assert seen == ["c", "a", "b"]


@pytest.mark.parametrize("fails", ["plain", "before", "after", "old before", "old after", "no yield"])
@pytest.mark.parametrize("first", [True, False])
def test_an_observer_that_fails_silences_nobody(host: Any, fails: str, first: bool) -> None:
    """Whatever one observer does, hook wrappers too, all others are told; the failure is logged with the plugin's
    name."""
    seen: list[str] = []

    def good(name: str, **marks: Any) -> Any:
        class Good:
            @hookimpl(**marks)
            def run_finished(self, program: Any, outcome: Any) -> None:
                seen.append(f"{name} {outcome}")

        return Good()

    class Wraps:
        @hookimpl(wrapper=True)
        def run_finished(self) -> Any:
            seen.append("before")
            answers = yield
            seen.append("after")
            return answers

    class Plain:
        @hookimpl
        def run_finished(self, outcome: Any) -> None:
            raise RuntimeError("a defect")

    class New:
        @hookimpl(wrapper=True)
        def run_finished(self) -> Any:
            if fails == "before":
                raise RuntimeError("a defect")
            if fails == "no yield":
                return []
            answers = yield
            if fails == "after":
                raise RuntimeError("a defect")
            return answers

    class Old:
        @hookimpl(hookwrapper=True)
        def run_finished(self) -> Any:
            if fails == "old before":
                raise RuntimeError("a defect")
            yield
            raise RuntimeError("a defect")

    bad = Plain() if fails == "plain" else Old() if fails.startswith("old") else New()
    things = {"one": good("one"), "bad": bad, "two": good("two", trylast=True), "wraps": Wraps()}
    for name, thing in things.items():
        host.install("plugin", name, thing)
    loaded = plugins(host)
    loaded.load_hooks(
        ["bad", "one", "two", "wraps"] if first else ["wraps", "two", "one", "bad"], lambda name, thing: thing
    )
    with structlog.testing.capture_logs() as logs:
        loaded.hook.run_finished(program=1, outcome=2)
    assert sorted(seen) == ["after", "before", "one 2", "two 2"]
    assert [(e["event"], e["plugin"]) for e in logs] == [("observer_failed", "bad")]


def test_what_policy_refuses_is_not_imported(host: Any) -> None:
    """A refused plugin is told as refused, and its import is never tried."""
    host.install("source", "fake", ImportError("it was imported"), distribution="bad-dist")
    refusing = Plugins(Index(host.entries, lambda entry: entry.distribution != "bad-dist"))
    with pytest.raises(PluginError, match=r"of bad-dist 1\.0 is not allowed"):
        refusing.driver("source", "fake")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("module", "forbidden"),
    [
        ("doorward", ["pydantic", "pluggy", "mcp", "httpx2"]),
        ("doorward.gateway", ["mcp", "httpx2", "rich", "click", "jsonschema_rs", "uvicorn", "tomlkit"]),
    ],
)
def test_imports_are_light(module: str, forbidden: list[str]) -> None:
    """Nothing heavy is imported before it is needed."""
    code = f"import sys, {module}; print(*[m for m in {forbidden!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


@pytest.mark.parametrize(
    ("kind", "name", "hint"),
    [
        ("auth", "keycloack", "Did you mean 'keycloak'? `pip install doorward-auth-keycloak` brings it."),
        ("source", "openapi", "`pip install doorward-openapi` brings it."),
        ("plugin", "audit_jsonl", "`pip install doorward-audit-jsonl` brings it."),
        ("plugin", "keyring", "`pip install doorward[keyring]` brings it."),
        (
            "source",
            "server",
            "Install the distribution that brings it; `pip install doorward[standard]` brings the usual ones.",
        ),
    ],
)
def test_what_to_install(kind: str, name: str, hint: str) -> None:
    """By the naming rule, of what core's metadata names; never a guess."""
    assert to_install(kind, name, ()) == hint
