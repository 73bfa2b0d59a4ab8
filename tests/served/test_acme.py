"""`distributions/acme`, from its source to the served endpoint: what it locks holds, however somebody tries to loosen it."""

from __future__ import annotations

import json
import os
import py_compile
import shutil
import sqlite3
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import closing
from importlib.util import cache_from_source
from pathlib import Path
from typing import Any

import pytest
from doorward_testing import Commands

from .environment import ROOT, Environment, wheels
from .environment import build as build_wheels
from .product import Agent, Answering, Project, apart, connected, web

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

SOURCE = ROOT / "distributions/acme"
FOLDERS = [
    "core", "libs/auth_kit", "libs/http", "libs/jail", "libs/json", "libs/text", "plugins/approvals", "plugins/audit_jsonl", "plugins/auth_static",
    "plugins/cache_sqlite", "plugins/cli", "plugins/compat", "plugins/dist", "plugins/durable_runs",
    "plugins/enhance", "plugins/guard_ast", "plugins/mcp_server", "plugins/mcp_upstream", "plugins/observed",
    "plugins/openapi", "plugins/program_helpers", "plugins/sandbox_monty", "plugins/search", "plugins/secrets", "plugins/skills",
    "plugins/store_sqlite",
]  # fmt: skip
"""What acme pins, and a plugin that it does not."""

HANDBOOK = "https://handbook.acme.example"
READ = "import acme_handbook\nresult = acme_handbook.get_page(page='welcome')['title']"
DELETE = "import doorward\nresult = doorward.call('acme_handbook.delete_page', {'page': 'welcome'})"
CLOSED = "import acme_handbook\nresult = acme_handbook.get_page(page='salaries')"


class Handbook(Answering):
    """Acme's handbook. It keeps the requests that it got."""

    seen: list[tuple[str, str, str]] = []  # noqa: RUF012

    def do_GET(self) -> None:
        self.seen.append((self.command, self.path, self.headers.get("Authorization", "")))
        self.answer({"title": "Welcome", "text": "Hello"})

    do_DELETE = do_GET


@pytest.fixture(scope="module")
def handbook() -> Iterator[str]:
    with web(Handbook) as url:
        yield url


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheels of this repository that acme pins."""
    return wheels(FOLDERS, tmp_path_factory.mktemp("wheels"))


@pytest.fixture(scope="module")
def builder() -> Iterator[Commands]:
    """The Doorward that runs the tests."""
    with Commands() as commands:
        yield commands


def build(builder: Commands, source: Path, built: Path, into: Path) -> subprocess.CompletedProcess[str]:
    """`doorward dist build`, without an index."""
    words = ("dist", "build", str(source), "--wheels", str(built), "--out", str(into))
    return builder.run(words, {**os.environ, "PIP_NO_INDEX": "1"}, built)


@pytest.fixture(scope="module")
def acme(tmp_path_factory: pytest.TempPathFactory, builder: Commands, built: Path, handbook: str) -> Path:
    """The wheel of the example, whose handbook is on loopback."""
    folder = tmp_path_factory.mktemp("acme")
    shutil.copytree(SOURCE, folder / "source")
    source = folder / "source/distribution.toml"
    source.write_text(source.read_text().replace(HANDBOOK, handbook))
    ended = build(builder, folder / "source", built, folder)
    assert ended.returncode == 0, ended.stderr
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory, built: Path, acme: Path) -> Environment:
    """An environment with acme, and with one plugin that it does not pin."""
    made = Environment(tmp_path_factory.mktemp("environment") / "venv")
    for wheel in (*built.glob("*.whl"), acme):
        made.install(wheel)
    return made


@pytest.fixture(scope="module")
def commands(environment: Environment) -> Iterator[Commands]:
    """Commands of the environment's Doorward."""
    with Commands(str(environment.python), "-I") as commands:
        yield commands


class Served(Project):
    """A project whose Doorward is that of the environment. `isolated`: whether its Python is. `commands`: those that
    need no start of their own."""

    def __init__(self, folder: Path, environment: Environment, commands: Commands) -> None:
        self.environment_, self.commands = environment, commands
        self.isolated = True
        super().__init__(folder, "", {"HANDBOOK_TOKEN": "t0ps3cret-handbook", "DOORWARD_DISTRO": "acme-doorward"})

    def configure(self, config: str) -> None:
        self.file.write_text('state = "state"\n' + config)

    def command(self, *words: str) -> list[str]:
        return [*self.environment_.doorward(*words, isolated=self.isolated), "--config", str(self.file)]

    def quick(self, *words: str) -> subprocess.CompletedProcess[str]:
        """A command, for which Python is not started: where it does not matter what that imports."""
        return self.commands.run([*words, "--config", str(self.file)], self.environment(), self.folder)

    def refused(self, *words: str, quick: bool = False) -> str:
        """What a command says that is refused, without a traceback and before anything is served."""
        ended = (self.quick if quick else self.run)(*(words or ("list",)))
        assert ended.returncode == 2, ended.stdout + ended.stderr
        assert "Traceback" not in ended.stderr
        return ended.stderr


@pytest.fixture
def served(tmp_path: Path, environment: Environment, commands: Commands) -> Served:
    return Served(tmp_path / "project", environment, commands)


# What it serves


async def test_it_serves_over_stdio(served: Served) -> None:
    """With a configuration in which nothing stands, a client reads the handbook; what acme forbids is refused; the audit
    log has it all."""
    Handbook.seen.clear()
    async with served.stdio() as agent:
        assert agent.client.server_info.name == "acme"
        assert await agent.value(READ) == "Welcome"
        assert Handbook.seen == [("GET", "/pages/welcome", "Bearer t0ps3cret-handbook")]
        refused = await agent.run(DELETE)
        assert refused["error"]["kind"] == "policy"
        assert "acme-doorward 1.0" in refused["error"]["message"]
        assert "closed at Acme" in (await agent.run(CLOSED))["error"]["message"]
        assert len(Handbook.seen) == 1
        assert "t0ps3cret" not in "".join(agent.received)
    assert [line["event"] for line in served.audit()].count("run_finished") == 3


async def test_it_serves_over_http(served: Served) -> None:
    """The locked host is loopback, and a client is served there."""
    with served.http() as (url, _):
        assert url.startswith("http://127.0.0.1:")
        async with connected(url) as agent:
            assert await agent.value(READ) == "Welcome"


def test_it_is_shown(served: Served) -> None:
    """`dist show` says what is pinned, locked, required and refused; `doctor` says that the files are as pinned, and
    `plugins` marks what is refused."""
    told = json.loads(served.quick("dist", "show", "--json").stdout)
    assert (told["package"], told["version"]) == ("acme-doorward", "1.0")
    assert all(pin["installed"] == "0.1.0" and pin["hashed"] for pin in told["pins"])
    assert {"[http]", "[servers.acme-handbook]", "executor", "limits.calls"} <= set(told["locks"])
    assert told["required"] == ["ast", "acme_pages", "audit_jsonl"]
    assert {each["distribution"] for each in told["refused"]} == {"doorward-secrets"}
    shown = served.quick("dist", "show").stdout
    assert "doorward-openapi==0.1.0 (installed: 0.1.0, files pinned)" in shown
    checks = json.loads(served.quick("doctor", "--json").stdout)["checks"]
    as_pinned = f"the files of {len(told['pins'])} packages are as pinned"
    assert any(c["ok"] and as_pinned in c["check"] for c in checks), checks
    rows = json.loads(served.quick("plugins", "--json").stdout)["plugins"]
    assert {row["distribution"] for row in rows if row["status"] == "refused"} == {"doorward-secrets"}


# What nobody may loosen by a configuration, the environment or an option

LOOSENED: dict[str, tuple[str, dict[str, str], str]] = {
    "a locked key": ('[http]\nhost = "0.0.0.0"\n', {}, "http.host"),
    "a locked key, by a variable": ("", {"DOORWARD_HTTP__HOST": "0.0.0.0"}, "http.host"),
    "another key of a locked table": ('[http]\norigins = ["https://evil.example"]\n', {}, "http.origins"),
    "another executor": ('executor = ["nsjail"]\n', {}, "executor"),
    "more calls": ("[limits]\ncalls = 100000\n", {}, "limits.calls"),
    "more calls, by a variable": ("", {"DOORWARD_LIMITS__CALLS": "100000"}, "limits.calls"),
    "the audit log elsewhere": ('[hooks.audit_jsonl]\npath = "/dev/null"\n', {}, "hooks.audit_jsonl"),
    "the audit log elsewhere, by a variable": ("", {"DOORWARD_HOOKS__AUDIT_JSONL__PATH": "/dev/null"}, "hooks.audit_jsonl"),
    "another key of a guard": ('[hooks.ast]\nallow = ["*"]\n', {}, "hooks.ast.allow"),
    "an open guard of its own": ("[hooks.acme_pages]\nclosed = []\n", {}, "hooks.acme_pages.closed"),
    "another upstream": ('[servers.acme-handbook]\nbase_url = "https://evil.example"\n', {}, "servers.acme-handbook"),
    "another key of a server": ('[servers.acme-handbook]\nlocal_auth = { type = "bearer", token = "x" }\n', {}, "servers.acme-handbook"),
}  # fmt: skip


@pytest.mark.parametrize(("config", "environ", "said"), LOOSENED.values(), ids=list(LOOSENED))
def test_nobody_loosens_it_by_configuration(served: Served, config: str, environ: dict[str, str], said: str) -> None:
    """A locked key or table is refused by name, from the file and from the environment, with who locks it."""
    served.configure(config)
    served.env |= environ
    error = served.refused(quick=True)
    assert said in error
    assert "acme-doorward 1.0" in error


def test_nobody_loosens_it_by_an_option(served: Served) -> None:
    """`--host` of serve is a layer like the others; the port is open."""
    assert "http.host" in served.refused("serve", "--transport", "http", "--port", "0", "--host", "0.0.0.0")


SAID_AGAIN = 'plugins = []\nexecutor = ["monty"]\n[http]\nhost = "127.0.0.1"\n[limits]\ncalls = 200\n'
OWN = '[servers.{name}]\nsource = "openapi"\nspec = "own.json"\nbase_url = "{url}"\n'
"""A server of the user's own for the same API, with other names of its functions."""


@pytest.fixture(scope="module")
def tried(
    tmp_path_factory: pytest.TempPathFactory, environment: Environment, commands: Commands, handbook: str
) -> Served:
    """A project of a user who says what acme says, requires nothing, and brings servers for acme's API."""
    tried = Served(tmp_path_factory.mktemp("tried"), environment, commands)
    document = json.loads((SOURCE / "src/handbook.json").read_text().replace("delete_page", "erase"))
    (tried.folder / "own.json").write_text(json.dumps(document))
    tried.configure(SAID_AGAIN + "".join(OWN.format(name=name, url=handbook) for name in ("acme_handbook", "mine")))
    tried.env["DOORWARD_LIMITS__CALLS"] = "200"
    return tried


@pytest.fixture(scope="module")
async def user(anyio_backend: str, tried: Served) -> AsyncIterator[Agent]:
    """A client of that project."""
    async with apart(tried.stdio()) as agent:
        yield agent


async def test_the_locked_value_is_no_change(user: Agent) -> None:
    """What acme says may be said again, in the file and by a variable."""
    assert await user.value("1 + 1") == 2


async def test_nobody_leaves_out_what_it_requires(tried: Served, user: Agent) -> None:
    """`plugins = []` leaves the required plugins in place."""
    assert "closed at Acme" in (await user.run(CLOSED))["error"]["message"]
    assert tried.audit()


async def test_nobody_takes_its_import_name(tried: Served, user: Agent) -> None:
    """A user's server that is imported by the same name is broken, not acme's."""
    assert await user.value(READ) == "Welcome"
    assert (await user.run(DELETE))["error"]["kind"] == "policy"
    listed = tried.quick("list")
    assert "is imported as `acme_handbook`" in listed.stdout + listed.stderr


async def test_another_name_is_the_same_upstream(user: Agent) -> None:
    """What the policy denies of an upstream is denied whatever a user calls the server, and whatever document describes
    it."""
    Handbook.seen.clear()
    refused = await user.run("import doorward\nresult = doorward.call('mine.erase', {'page': 'welcome'})")
    assert refused["error"]["kind"] == "policy", refused
    assert Handbook.seen == []


def renamed(served: Served) -> None:
    """Change the name and the route of a function in the catalog's file."""
    with closing(sqlite3.connect(served.folder / "state/catalog.db")) as catalog, catalog:
        for column in [row[1] for row in catalog.execute("PRAGMA table_info(functions)")]:
            for old, new in (("delete_page", "innocent"), ("DELETE /pages", "GET /pages")):
                catalog.execute(
                    f"UPDATE functions SET {column} = replace({column}, ?, ?) WHERE typeof({column}) = 'text'",
                    (old, new),
                )
        catalog.execute("UPDATE compiles SET number = number + 1")


async def test_another_catalog_is_not_used(served: Served) -> None:
    """A function whose name and route somebody has changed in the catalog's file is compiled again at the start, and
    refused if that happens later: nothing is sent that is denied."""
    program = "import acme_handbook\nresult = acme_handbook.innocent(page='welcome')"
    assert served.quick("list").returncode == 0
    renamed(served)
    Handbook.seen.clear()
    async with served.stdio() as agent:
        assert (await agent.run(program))["error"]["type"] == "AttributeError"
        assert (await agent.run(DELETE))["error"]["kind"] == "policy"
        renamed(served)
        refused = await agent.run(program)
        assert not refused["ok"], refused
    assert Handbook.seen == []


def test_only_what_is_pinned_is_used(served: Served) -> None:
    """A plugin that is installed and not pinned is not imported."""
    served.configure('plugins = ["cmd"]\n')
    assert "is not allowed by acme-doorward 1.0" in served.refused(quick=True)


# What nobody may loosen in the environment of Python, as far as it is checked at each start


def shadow(folder: Path, package: str, text: str = "open({!r}, 'w').close()") -> Path:
    """A package in a folder, that leaves a file where it is imported."""
    (folder / package).mkdir(parents=True)
    (folder / package / "__init__.py").write_text(text.format(str(folder / "imported")))
    return folder


@pytest.mark.parametrize("package", ["acme_doorward", "doorward_guard_ast", "doorward_openapi"])
def test_a_shadowing_folder_is_refused(served: Served, tmp_path: Path, package: str) -> None:
    """A folder on PYTHONPATH with the name of a pinned package, or of acme's own, stops the start before it is
    imported; `python -I` does not even see it."""
    folder = shadow(tmp_path / "shadow", package)
    (folder / package / "distro.toml").write_text("")
    served.env["PYTHONPATH"] = str(folder)
    assert served.run("list").returncode == 0
    served.isolated = False
    assert f"`import {package}` would take {folder}" in served.refused()
    assert not (folder / "imported").exists()


def test_a_shadowing_dist_info_is_refused(served: Served, tmp_path: Path, environment: Environment) -> None:
    """Neither a second acme without locks, nor another distribution that DOORWARD_DISTRO names, becomes the active
    one; and a second copy of a pinned plugin is none."""
    served.isolated = False
    for name, package in (("acme_doorward", "acme_doorward"), ("loose", "loose")):
        folder = shadow(tmp_path / name, package)
        (folder / package / "distro.toml").write_text("")
        info = folder / f"{name}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name.replace('_', '-')}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[doorward.distro]\n{name.replace('_', '-')} = {package}\n")
        served.env |= {"PYTHONPATH": str(folder), "DOORWARD_DISTRO": name.replace("_", "-")}
        error = served.refused()
        assert "is installed twice" in error or "several distributions are installed" in error, error
        assert not (folder / "imported").exists()


@pytest.mark.parametrize("name", ["doorward-dist", "loose"])
def test_a_second_manager_is_refused(served: Served, tmp_path: Path, name: str) -> None:
    """Nobody takes the place of what keeps the locks: neither under its name nor beside it. It is not imported."""
    folder = shadow(tmp_path / "loose", "loose")
    info = folder / "loose-9.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 9.0\n")
    (info / "entry_points.txt").write_text("[doorward.configuration]\ndist = loose:manager\n")
    served.env["PYTHONPATH"] = str(folder)
    served.isolated = False
    error = served.refused()
    assert "the configuration is managed by several" in error
    assert f"{name} 9.0 in {info}" in error
    assert not (folder / "imported").exists()


def test_nothing_starts_without_what_keeps_the_locks(served: Served, environment: Environment, built: Path) -> None:
    """Not even where another manager is installed in its place."""
    (wheel,) = built.glob("doorward_dist-*.whl")
    info = environment.site / "loose-9.0.dist-info"
    environment.uninstall("doorward_dist")
    try:
        assert "acme-doorward 1.0 means nothing without doorward-dist" in served.refused()
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: loose\nVersion: 9.0\n")
        (info / "entry_points.txt").write_text("[doorward.configuration]\nloose = loose:manager\n")
        assert "hint: pip install doorward-dist" in served.refused()
    finally:
        shutil.rmtree(info, ignore_errors=True)
        environment.install(wheel)
    assert served.run("list").returncode == 0


def test_an_editable_install_is_refused(served: Served, environment: Environment, tmp_path: Path) -> None:
    """A pinned plugin whose files are those of a folder in which somebody works is refused, though its version is the
    pinned one."""
    (info,) = environment.site.glob("doorward_guard_ast-*.dist-info")
    with kept(info / "direct_url.json"):
        (info / "direct_url.json").write_text('{"url": "file:///work", "dir_info": {"editable": true}}')
        assert "doorward-guard-ast 0.1.0: is an editable install" in served.refused()


def test_compiled_modules_are_not_taken_from_elsewhere(served: Served, tmp_path: Path) -> None:
    """A folder of compiled modules that a variable names would run in place of the pinned files."""
    served.env["PYTHONPYCACHEPREFIX"] = str(tmp_path)
    served.isolated = False
    assert "PYTHONPYCACHEPREFIX" in served.refused()


class kept:
    """A file or folder of the environment, put back as it was."""

    def __init__(self, *paths: Path) -> None:
        self.before = {path: path.read_bytes() if path.is_file() else None for path in paths}

    def __enter__(self) -> None:
        pass

    def __exit__(self, *raised: object) -> None:
        for path, content in self.before.items():
            if content is not None:
                path.write_bytes(content)
            else:
                path.unlink(missing_ok=True)


TAMPERED: dict[str, tuple[str, Callable[[bytes], bytes], str]] = {
    "a guard that guards nothing": ("doorward_guard_ast/__init__.py", lambda b: b"class AstGuard: ...\n", "doorward-guard-ast 0.1.0"),
    "one byte of core": ("doorward/calls/broker.py", lambda b: b + b"#", "doorward 0.1.0"),
    "one byte of the command line": ("doorward_cli/shared.py", lambda b: b + b"#", "doorward-cli 0.1.0"),
    "one byte of what keeps the locks": ("doorward_dist/locked.py", lambda b: b + b"#", "doorward-dist 0.1.0"),
    "an added module": ("doorward_openapi/more.py", lambda b: b"", "doorward-openapi 0.1.0"),
    "no locks": ("acme_doorward/distro.toml", lambda b: b.split(b"[locked]")[0], "acme-doorward 1.0"),
}  # fmt: skip


@pytest.mark.parametrize(("file", "change", "said"), TAMPERED.values(), ids=list(TAMPERED))
def test_a_tampered_file_is_refused(
    served: Served, environment: Environment, file: str, change: Callable[[bytes], bytes], said: str
) -> None:
    """A file of a pinned package that was changed or added after it was installed stops the start, and is named."""
    path = environment.site / file
    with kept(path):
        path.write_bytes(change(path.read_bytes() if path.exists() else b""))
        error = served.refused()
        assert said in error
        assert str(path) in error


def test_a_tampered_wheel_is_refused(served: Served, environment: Environment, built: Path, tmp_path: Path) -> None:
    """A wheel of the pinned version with other content, whose RECORD fits it, is not the pinned one."""
    (wheel,) = built.glob("doorward_guard_ast-*.whl")
    shutil.copytree(ROOT / "plugins/guard_ast", tmp_path / "project2")
    module = tmp_path / "project2/src/doorward_guard_ast/__init__.py"
    module.write_text(module.read_text() + "\nEMPTY = True\n")
    (other,) = build_wheels([tmp_path / "project2"], tmp_path / "other")
    environment.uninstall("doorward_guard_ast")
    try:
        environment.install(other)
        assert "doorward-guard-ast 0.1.0: is not the build that is pinned" in served.refused()
    finally:
        environment.uninstall("doorward_guard_ast")
        environment.install(wheel)
    assert served.run("list").returncode == 0


COUNT = """
import sys
opened, site = [], {site!r}
sys.addaudithook(lambda event, given: event == "open" and str(given[0]).startswith(site) and opened.append(given[0]))
from doorward_cli import main
try:
    main(["list", "--config", {config!r}])
finally:
    others = [path for path in opened if "/many_" in path]
    print(len(set(sys.modules)), len(opened) - len(others), len(others), len(set(others)), file=sys.stderr)
"""
"""Lists the servers, then says how many modules were imported, and how many files were opened: of the 50, and others."""


def test_fifty_more_plugins_cost_a_start_nothing_but_their_index(served: Served, environment: Environment) -> None:
    """With 50 plugins installed that nothing names, the same modules are imported and the same files read as without
    them; of theirs nothing but the index. Only pinned files are compared."""

    def counted() -> list[int]:
        code = COUNT.format(site=str(environment.site), config=str(served.file))
        command = [str(environment.python), "-I", "-c", code]
        ended = subprocess.run(
            command, env=served.environment(), cwd=served.folder, capture_output=True, text=True, check=True
        )
        return [int(word) for word in ended.stderr.split()[-4:]]

    counted()  # compiles the document, and the modules
    without = counted()
    made = [environment.site / f"many_{number}" for number in range(50)]
    infos = [environment.site / f"{package.name}-1.0.dist-info" for package in made]
    try:
        for package, info in zip(made, infos, strict=True):
            package.mkdir()
            (package / "__init__.py").write_text("raise SystemExit\n")
            info.mkdir()
            (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package.name}\nVersion: 1.0\n")
            (info / "entry_points.txt").write_text(f"[doorward.plugins]\n{package.name} = {package.name}:Guard\n")
        within = counted()
    finally:
        for folder in (*made, *infos):
            shutil.rmtree(folder, ignore_errors=True)
    assert within[:2] == without[:2]
    assert within[3] <= 100


# `dist verify`


def verified(served: Served, *words: str) -> Any:
    """What `python -I -m doorward_dist verify` says."""
    command = [str(served.environment_.python), "-I", "-m", "doorward_dist", *words, "--json"]
    ended = subprocess.run(
        command, env=served.environment(), cwd=served.folder, capture_output=True, text=True, check=False
    )
    told = json.loads(ended.stdout)
    assert ended.returncode == (0 if told["ok"] else 1), ended.stderr
    return told


def test_what_verify_says(served: Served, tmp_path: Path) -> None:
    """Of an untouched environment, that its user may write there, and what was open to whoever started Python."""
    served.isolated = False
    served.env["PYTHONPATH"] = str(tmp_path)
    ended = served.run("dist", "verify", "--json")
    assert ended.returncode == 1
    found = {problem["what"] for problem in json.loads(ended.stdout)["problems"]}
    assert {what for what in found if not what.endswith("can be written by whoever runs Doorward")} == {
        "PYTHONPATH is set",
        "Python is not isolated: variables and the current folder choose code",
    }


def test_verify_names_every_file(served: Served, environment: Environment) -> None:
    """Those of pinned packages that were changed, foreign `.pth` files, and compiled modules that are not those of
    their sources; without acme's own locks, that alone."""
    module = environment.site / "doorward_cache_sqlite/programs.py"
    pyc = Path(cache_from_source(str(module)))
    pth = environment.site / "evil.pth"
    changed = [(environment.site / file, change) for file, change, _ in TAMPERED.values()]
    with kept(pyc, pth, *(path for path, _ in changed)):
        for path, change in changed[:-1]:
            path.write_bytes(change(path.read_bytes() if path.exists() else b""))
        pth.write_text("import this_is_nowhere if False else None\n")
        py_compile.compile(str(module.with_name("__init__.py")), str(pyc))
        found = [problem["what"] for problem in verified(served, "verify")["problems"]]
        assert [path for path, _ in changed[:-1] if not any(str(path) in what for what in found)] == []
        assert any("evil.pth is run at each start" in what for what in found)
        assert any("was not compiled from programs.py" in what for what in found)
        path, change = changed[-1]
        path.write_bytes(change(path.read_bytes()))
        found = [problem["what"] for problem in verified(served, "verify")["problems"]]
        assert any(str(path) in what for what in found)


# What the build refuses

WRONG: dict[str, tuple[str, str, str]] = {
    "a misspelt table": ("[locked]\n", "[lockd]\n", "unknown key 'lockd'; did you mean 'locked'?"),
    "a misspelt key": ("[branding]\n", "[branding]\ntitel = 'x'\n", "did you mean 'title'?"),
    "no list": ('plugins = ["ast", "acme_pages", "audit_jsonl"]', 'plugins = "ast"', "required.plugins"),
    "a key that no configuration has": ("calls = 200", "cals = 200", "did you mean 'calls'?"),
    "a setting that the plugin does not have": ("[locked.hooks.ast]\nallow", "[locked.hooks.ast]\nalow", "did you mean 'allow'?"),
    "an option that the source does not have": ("base_url", "base_ulr", "did you mean 'base_url'?"),
    "no core": ('  "doorward==0.1.0",\n', "", "doorward is missing"),
    "nothing that keeps the locks": ('  "doorward-dist==0.1.0",\n', "", "doorward-dist is missing"),
    "a module that is not there": ("pages:Pages", "page:Pages", "src has no module 'page'"),
    "a lock that a user opens": ('spec = "${distribution}', 'spec = "${HOME}', "refers to a variable"),
    "a file beside the user's own": ('spec = "${distribution}/', 'spec = "', "is a file of this distribution"),
    "hashes by hand": ("[branding]\n", '[files]\ndoorward = "sha256:' + 64 * "0" + '"\n[branding]\n', "written when"),
}  # fmt: skip


@pytest.mark.parametrize(("old", "new", "said"), WRONG.values(), ids=list(WRONG))
def test_what_is_wrong_in_the_source_is_told(
    tmp_path: Path, builder: Commands, built: Path, old: str, new: str, said: str
) -> None:
    """Nothing is passed over: each mistake ends the build with one line that says what and where. Those that any
    wheels show are in `plugins/dist/tests`."""
    shutil.copytree(SOURCE, tmp_path / "source")
    file = tmp_path / "source/distribution.toml"
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new, 1))
    ended = build(builder, tmp_path / "source", built, tmp_path / "out")
    assert ended.returncode == 2, ended.stdout
    assert said in ended.stderr
    assert not (tmp_path / "out").exists()


def test_the_same_source_makes_the_same_wheel(tmp_path: Path, builder: Commands, built: Path, acme: Path) -> None:
    """Byte by byte, wherever and whenever it is built."""
    shutil.copytree(acme.parent / "source", tmp_path / "elsewhere")
    assert build(builder, tmp_path / "elsewhere", built, tmp_path / "again").returncode == 0
    assert (tmp_path / "again" / acme.name).read_bytes() == acme.read_bytes()
