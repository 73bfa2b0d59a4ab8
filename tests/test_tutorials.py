"""The tutorials: every snippet of docs/plugins.md and docs/plugins/ is run as it is printed."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import anyio
import mcp_types as t
import pytest
from doorward.configuration import GROUPS
from doorward_testing import Commands, Host
from doorward_testing.authoring.kinds import kinds
from doorward_testing.authoring.package import planned
from mcp import StdioServerParameters
from mcp.client import Client
from mcp.client.stdio import stdio_client
from served.product import Answering, module, web

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "docs/plugins.md", *sorted((ROOT / "docs/plugins").glob("*.md"))]
NAME = re.compile(r"# ([\w./-]+\.(?:py|toml|sh))\n")
TESTED_BELOW = {"acme_both.py", "acme_confirm.py", "acme_introspected.py"}
"""Snippets whose tests are here, for they would teach nothing on the page."""


class Snippet(NamedTuple):
    language: str
    name: str
    """What its first line says, a comment: the file that it is, or a part of."""
    text: str

    @property
    def is_generated(self) -> bool:
        """Whether it is a part of a file that `doorward plugin new` writes."""
        return "/" in self.name or self.name == "doorward.toml"


class Tutorial:
    """A page, and a folder in which its reader works: what `doorward plugin new` writes, and the page's own files."""

    def __init__(self, page: Path, folder: Path) -> None:
        self.text, self.folder, self.site = page.read_text(encoding="utf-8"), folder, folder / "site"
        blocks = re.findall(r"^```(\w+)\n(.*?)^```$", self.text, re.MULTILINE | re.DOTALL)
        named = [(language, NAME.match(text), text) for language, text in blocks]
        self.snippets = [
            Snippet(language, m[1] if m else "", text[m.end() if m else 0 :]) for language, m, text in named
        ]
        for snippet in self.own:
            (folder / snippet.name).write_text(snippet.text, encoding="utf-8")
        points = "".join(s.text for s in self.snippets if s.text.startswith("[project.entry-points"))
        self._install("snippets", points.replace('[project.entry-points."', "[").replace('"]', "]").replace('"', ""))
        self.package = None
        if new := re.search(r"^\$ doorward plugin new (\w+) (\w+) --prefix (\w+)$", self.text, re.MULTILINE):
            made = planned(kinds()[new[1]], new[2], prefix=new[3])
            self.package = folder / made.distribution
            os.chdir(folder)
            made.write()
            given = made.filled(f"[@group@]\n{made.name} = @target@\n")
            self._install(made.distribution, given)

    @property
    def own(self) -> list[Snippet]:
        return [s for s in self.snippets if s.language == "python" and not s.is_generated]

    def _install(self, distribution: str, points: str) -> None:
        about = self.site / f"{distribution.replace('-', '_')}-1.0.dist-info"
        about.mkdir(parents=True)
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.0\n")
        (about / "entry_points.txt").write_text(points)

    def places(self) -> list[str]:
        """Where Python finds what is installed, and what the page has."""
        places = [self.site, self.folder, ROOT / "examples", *([self.package / "src"] if self.package else [])]
        return [str(place) for place in places]

    def run(self, command: str, commands: Commands) -> str:
        """What a command prints in the generated package: one of `doorward` needs no Python of its own."""
        assert self.package
        program, *words = shlex.split(command)
        if program == "doorward":
            places = self.places()
            ended = commands.run(words, environment(*places), self.package, places)
        else:
            ended = ran(command, self.package, *self.places())
        assert ended.returncode == 0, f"{command}\n{ended.stdout}{ended.stderr}"
        return ended.stdout


def environment(*places: str) -> dict[str, str]:
    """The environment of a reader whose Python finds modules in these places, too."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("DOORWARD_", "PYTEST_"))}
    programs = f"{Path(sys.executable).parent}{os.pathsep}{kept['PATH']}"
    return kept | {"PYTHONPATH": os.pathsep.join(places), "PATH": programs}


def ran(command: str, folder: Path, *places: str) -> subprocess.CompletedProcess[str]:
    """A command of the shell, to its end."""
    return subprocess.run(
        command,
        shell=True,
        cwd=folder,
        env=environment(*places),
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


@pytest.fixture(scope="module")
def tutorials(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Tutorial]:
    """All pages, each with its folder."""
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("tutorials")
        patch.chdir(folder)
        for page in PAGES:
            (folder / page.stem).mkdir()
        return {page.stem: Tutorial(page, folder / page.stem) for page in PAGES}


@pytest.fixture(params=[page.stem for page in PAGES])
def tutorial(request: pytest.FixtureRequest, tutorials: dict[str, Tutorial]) -> Tutorial:
    return tutorials[request.param]


@pytest.fixture(scope="module")
def commands() -> Iterator[Commands]:
    """The commands of Doorward."""
    with Commands() as commands:
        yield commands


@pytest.fixture(scope="module")
def tested(tutorials: dict[str, Tutorial]) -> str:
    """What pytest says of the tests of all pages, of which each stands on one page."""
    pages = [page for page in tutorials.values() if page.own]
    folder = pages[0].folder.parent
    places = [place for page in pages for place in page.places()]
    modules = ", ".join(snippet.name.removesuffix(".py") for page in pages for snippet in page.own)
    imported = ran(f"python -c 'import {modules}'", folder, *places)
    assert imported.returncode == 0, imported.stderr
    files = [page.folder / s.name for page in pages for s in page.own if s.name.startswith("test_")]
    assert len({file.name for file in files}) == len(files)
    ended = ran(f"python -m pytest -v -p no:cacheprovider --rootdir . {' '.join(map(str, files))}", folder, *places)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def page(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Tutorial:
    monkeypatch.chdir(folder)
    return Tutorial(ROOT / "docs" / name, folder)


def test_there_is_a_tutorial_for_each_kind() -> None:
    """The page of a kind begins with `doorward plugin new`, and docs/plugins.md leads to it."""
    entrance = PAGES[0].read_text(encoding="utf-8")
    assert {file.stem for file in PAGES[1:]} == set(kinds())
    for kind in kinds():
        text = (ROOT / f"docs/plugins/{kind}.md").read_text(encoding="utf-8")
        assert re.search(rf"^## Start\n\n```console\n\$ doorward plugin new {kind} ", text, re.MULTILINE), kind
        assert f"| `{kind}` |" in entrance
        assert f"(plugins/{kind}.md)" in entrance
        for heading in ("The code", "How it works", "Try it", "Test it", "Publish it"):
            assert f"\n## {heading}\n" in text, (kind, heading)


def test_what_is_shown_is_what_is_written(tutorial: Tutorial) -> None:
    """A snippet that names a file of the generated package is a part of it, word for word; so is the entry point."""
    shown = [s for s in tutorial.snippets if s.is_generated and s.name]
    assert bool(shown) == (tutorial.package is not None and "## The code" in tutorial.text)
    for snippet in shown:
        assert tutorial.package
        assert snippet.text in (tutorial.package / snippet.name).read_text(encoding="utf-8"), snippet.name
    if tutorial.package and shown:
        points = (tutorial.package / "pyproject.toml").read_text(encoding="utf-8")
        (told,) = re.findall(r"^The entry point is .*?`(\w+ = \"[\w:]+\")`", tutorial.text, re.MULTILINE)
        assert told in points
        assert any(f"in the group{space}`{group}`" in tutorial.text for group in GROUPS.values() for space in " \n")
        (folder,) = re.findall(r"^\$ cd (\S+)$", tutorial.text, re.MULTILINE)
        assert folder == tutorial.package.name


def test_snippets_of_its_own_pass(tutorial: Tutorial, tested: str) -> None:
    """Every Python snippet is a whole file; all are written into one folder, in which pytest passes."""
    assert [s.text for s in tutorial.own if not s.name] == []
    files = [s.name for s in tutorial.own]
    tests = "".join(s.text for s in tutorial.own if s.name.startswith("test_"))
    for name in files:
        assert name.startswith("test_") or name in TESTED_BELOW or name.removesuffix(".py") in tests, name
        found = re.findall(rf"/{name}::.* ([A-Z]+) ", tested)
        assert set(found) - {"SKIPPED"} == ({"PASSED"} if name.startswith("test_") else set()), tested


def test_its_configuration_is_well(tutorial: Tutorial, commands: Commands) -> None:
    """`doorward doctor` finds nothing wrong with the package, as it was written and is shown."""
    if tutorial.package and tutorial.package.name != "acme-doorward":  # that is active only as a wheel
        said = tutorial.run("doorward doctor", commands)
        assert "✗" not in said


def test_commands_print_what_is_shown(tutorial: Tutorial, commands: Commands) -> None:
    """What stands below "Try it" is run in the generated package, and prints that; … stands for any text."""
    if tutorial.package and tutorial.package.name == "acme-doorward-sandbox-unshared":
        unshare = ["unshare", "-Urmpfniu", "true"]
        if not shutil.which("unshare") or subprocess.run(unshare, capture_output=True, check=False).returncode:
            pytest.skip("namespaces are not allowed here, or there is no unshare(1)")
    tried = tutorial.text.partition("\n## Try it\n")[2].partition("\n## ")[0]
    for console in re.findall(r"^```console\n(.*?)^```$", tried, re.MULTILINE | re.DOTALL):
        for command, shown in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", console, re.MULTILINE):
            printed = tutorial.run(command, commands)
            assert not shown or re.fullmatch(re.escape(shown.strip()).replace("…", ".*"), printed.strip()), (
                f"{command}\n{printed}"
            )


class Provider(Answering):
    """Knows one token."""

    def do_POST(self) -> None:
        token = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.answer({"active": token == "token=good", "client_id": "app", "sub": "ann"})


def test_the_verifier_of_tokens(host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The hook plugin `Introspected` lets in who has a token that is good."""
    page("plugins/mcp.md", tmp_path, monkeypatch)
    introspected = module(str(tmp_path / "acme_introspected.py")).Introspected
    host.install("plugin", "introspected", introspected)

    async def check() -> None:
        with web(Provider) as url:
            async with host.gateway({"plugins": ["introspected"], "hooks": {"introspected": {"url": url}}}):
                verifier = introspected(host.context(introspected.Settings, {"url": url})).token_verifier()
                assert (await verifier.verify_token("good")).subject == "ann"
                assert await verifier.verify_token("bad") is None

    anyio.run(check)


def test_the_tool_that_asks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tool `confirm`, in a served gateway, answers with what the person did."""
    tutorial = page("plugins/mcp.md", tmp_path, monkeypatch)
    (tmp_path / "doorward.toml").write_text(
        'executor = "monty"\ncache = "none"\nplugins = ["confirm"]\nstate = "state"\n'
    )
    started = StdioServerParameters(
        command=sys.executable, args=["-m", "doorward", "serve"], env=environment(*tutorial.places()), cwd=tmp_path
    )

    async def person(context: object, params: object) -> t.ElicitResult:
        return t.ElicitResult(action="decline")

    async def check() -> None:
        async with Client(stdio_client(started), elicitation_callback=person) as client:
            answer = await client.call_tool("confirm", {})
            assert json.loads(answer.model_dump_json())["content"][0]["text"] == "decline"

    anyio.run(check)


@pytest.mark.parametrize(("ours", "stated"), [(1, 1), (2, 2), (3, 2)])
def test_a_plugin_for_two_numbers(ours: int, stated: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It states the number that it meets; one that it does not know refuses it."""
    page("plugins.md", tmp_path, monkeypatch)
    monkeypatch.setattr("doorward.PLUGIN_API", ours, raising=False)
    names: dict[str, object] = {}
    exec(compile((tmp_path / "acme_both.py").read_text(), "acme_both.py", "exec"), names)
    assert names["PLUGIN_API"] == stated
