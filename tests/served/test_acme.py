"""`distributions/acme`, from its source to the served endpoint: what it locks holds, however somebody tries to loosen it."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from .environment import ROOT, Environment, wheels
from .product import Answering, Project, connected, web

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

SOURCE = ROOT / "distributions/acme"
FOLDERS = [
    "core", "libs/auth_kit", "plugins/audit_jsonl", "plugins/auth_static", "plugins/cache_sqlite", "plugins/dist", "plugins/guard_ast",
    "plugins/mcp_server", "plugins/mcp_upstream", "plugins/openapi", "plugins/sandbox_monty", "plugins/secrets",
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


def build(source: Path, built: Path, into: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """`doorward dist build`, without an index. Doorward is the one that runs the tests."""
    command = [sys.executable, "-m", "doorward.cli", "dist", "build", str(source), "--wheels", str(built)]
    return subprocess.run(
        [*command, "--out", str(into), *options],
        capture_output=True,
        text=True,
        env={**os.environ, "PIP_NO_INDEX": "1"},
        check=False,
    )


@pytest.fixture(scope="module")
def acme(tmp_path_factory: pytest.TempPathFactory, built: Path, handbook: str) -> Path:
    """The wheel of the example, whose handbook is on loopback."""
    folder = tmp_path_factory.mktemp("acme")
    shutil.copytree(SOURCE, folder / "source")
    source = folder / "source/distribution.toml"
    source.write_text(source.read_text().replace(HANDBOOK, handbook))
    ended = build(folder / "source", built, folder)
    assert ended.returncode == 0, ended.stderr
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory, built: Path, acme: Path) -> Environment:
    """An environment with acme, and with one plugin that it does not pin."""
    made = Environment(tmp_path_factory.mktemp("environment") / "venv")
    for wheel in (*built.glob("*.whl"), acme):
        made.install(wheel)
    return made


class Served(Project):
    """A project whose Doorward is that of the environment; `python` are options of its interpreter."""

    def __init__(self, folder: Path, environment: Environment) -> None:
        self.environment_ = environment
        self.isolated = True
        super().__init__(folder, "", {"HANDBOOK_TOKEN": "t0ps3cret-handbook", "DOORWARD_DISTRO": "acme-doorward"})

    def configure(self, config: str) -> None:
        self.file.write_text('state = "state"\n' + config)

    def command(self, *words: str) -> list[str]:
        return [*self.environment_.doorward(*words, isolated=self.isolated), "--config", str(self.file)]

    def refused(self, *words: str) -> str:
        """What a command says that is refused, without a traceback and before anything is served."""
        ended = self.run(*(words or ("list",)))
        assert ended.returncode == 2, ended.stdout + ended.stderr
        assert "Traceback" not in ended.stderr
        return ended.stderr


@pytest.fixture
def served(tmp_path: Path, environment: Environment) -> Served:
    return Served(tmp_path / "project", environment)


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
    told = json.loads(served.run("dist", "show", "--json").stdout)
    assert (told["package"], told["version"]) == ("acme-doorward", "1.0")
    assert all(pin["installed"] == "0.1.0" and pin["hashed"] for pin in told["pins"])
    assert {"[http]", "[servers.acme-handbook]", "executor", "limits.calls"} <= set(told["locks"])
    assert told["required"] == ["ast", "acme_pages", "audit_jsonl"]
    assert {each["distribution"] for each in told["refused"]} == {"doorward-secrets"}
    shown = served.run("dist", "show").stdout
    assert "doorward-openapi==0.1.0 (installed: 0.1.0, files pinned)" in shown
    checks = json.loads(served.run("doctor", "--json").stdout)["checks"]
    assert any(c["ok"] and "the files of 11 packages are as pinned" in c["check"] for c in checks), checks
    rows = json.loads(served.run("plugins", "--json").stdout)["plugins"]
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
    error = served.refused()
    assert said in error
    assert "acme-doorward 1.0" in error


def test_nobody_loosens_it_by_an_option(served: Served) -> None:
    """`--host` of serve is a layer like the others; the port is open."""
    assert "http.host" in served.refused("serve", "--transport", "http", "--port", "0", "--host", "0.0.0.0")


async def test_the_locked_value_is_no_change(served: Served) -> None:
    """What acme says may be said again."""
    served.configure('executor = ["monty"]\n[http]\nhost = "127.0.0.1"\n[limits]\ncalls = 200\n')
    served.env["DOORWARD_LIMITS__CALLS"] = "200"
    async with served.stdio() as agent:
        assert await agent.value("1 + 1") == 2


async def test_nobody_leaves_out_what_it_requires(served: Served) -> None:
    """`plugins = []` leaves the required plugins in place."""
    served.configure("plugins = []\n")
    async with served.stdio() as agent:
        assert "closed at Acme" in (await agent.run(CLOSED))["error"]["message"]
    assert served.audit()


async def test_nobody_takes_its_import_name(served: Served, handbook: str) -> None:
    """A user's server that is imported by the same name is broken, not acme's."""
    served.configure(_another(served, "acme_handbook", handbook))
    async with served.stdio() as agent:
        assert await agent.value(READ) == "Welcome"
        assert (await agent.run(DELETE))["error"]["kind"] == "policy"
    listed = served.run("list")
    assert "is imported as `acme_handbook`" in listed.stdout + listed.stderr


async def test_another_name_is_the_same_upstream(served: Served, handbook: str) -> None:
    """What the policy denies of an upstream is denied whatever a user calls the server, and whatever document describes
    it."""
    served.configure(_another(served, "mine", handbook))
    Handbook.seen.clear()
    async with served.stdio() as agent:
        refused = await agent.run("import doorward\nresult = doorward.call('mine.erase', {'page': 'welcome'})")
        assert refused["error"]["kind"] == "policy", refused
    assert Handbook.seen == []


def _another(served: Served, name: str, url: str) -> str:
    """A server of the user's own for the same API, with other names of its functions."""
    document = json.loads((SOURCE / "src/handbook.json").read_text().replace("delete_page", "erase"))
    (served.folder / "own.json").write_text(json.dumps(document))
    return f'[servers.{name}]\nsource = "openapi"\nspec = "own.json"\nbase_url = "{url}"\n'


async def test_another_catalog_is_the_same_upstream(served: Served) -> None:
    """A function whose name and route somebody has changed in the catalog's file still sends what is denied."""
    assert served.run("list").returncode == 0
    with closing(sqlite3.connect(served.folder / "state/catalog.db")) as catalog, catalog:
        for column in [row[1] for row in catalog.execute("PRAGMA table_info(functions)")]:
            for old, new in (("delete_page", "innocent"), ("DELETE /pages", "GET /pages")):
                catalog.execute(
                    f"UPDATE functions SET {column} = replace({column}, ?, ?) WHERE typeof({column}) = 'text'",
                    (old, new),
                )
    Handbook.seen.clear()
    async with served.stdio() as agent:
        refused = await agent.run("import acme_handbook\nresult = acme_handbook.innocent(page='welcome')")
        assert refused["error"]["kind"] == "policy", refused
        assert "DELETE /pages/welcome is not allowed by the policy of acme-doorward 1.0" in refused["error"]["message"]
    assert Handbook.seen == []


def test_only_what_is_pinned_is_used(served: Served) -> None:
    """A plugin that is installed and not pinned is not imported."""
    served.configure('plugins = ["cmd"]\n')
    assert "is not allowed by acme-doorward 1.0" in served.refused()


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
        told = verified(served, "verify")
        assert any(str(path) in problem["what"] for problem in told["problems"])


def test_a_tampered_wheel_is_refused(served: Served, environment: Environment, built: Path, tmp_path: Path) -> None:
    """A wheel of the pinned version with other content, whose RECORD fits it, is not the pinned one."""
    (wheel,) = built.glob("doorward_guard_ast-*.whl")
    folder = tmp_path / "unpacked"
    zipfile.ZipFile(wheel).extractall(folder)
    shutil.copytree(ROOT / "plugins/guard_ast", tmp_path / "project2")
    module = tmp_path / "project2/src/doorward_guard_ast/__init__.py"
    module.write_text(module.read_text() + "\nEMPTY = True\n")
    build_it = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path / "other")]
    subprocess.run(build_it, cwd=tmp_path / "project2", check=True, capture_output=True)
    environment.uninstall("doorward_guard_ast")
    try:
        environment.install(next((tmp_path / "other").glob("*.whl")))
        assert "doorward-guard-ast 0.1.0: is not the build that is pinned" in served.refused()
    finally:
        environment.uninstall("doorward_guard_ast")
        environment.install(wheel)
    assert served.run("list").returncode == 0


COUNT = """
import sys
opened, site = [], {site!r}
sys.addaudithook(lambda event, given: event == "open" and str(given[0]).startswith(site) and opened.append(given[0]))
from doorward.cli import main
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


def test_what_verify_says(served: Served, environment: Environment, tmp_path: Path) -> None:
    """Of an untouched environment, that its user may write there. Of a started one, also variables, foreign `.pth`
    files, and compiled modules that are not those of their sources."""
    told = verified(served, "verify")
    assert {problem["what"].partition(" ")[2] for problem in told["problems"]} <= {
        "can be written by whoever runs Doorward"
    }, told
    served.isolated = False
    served.env["PYTHONPATH"] = str(tmp_path)
    ended = served.run("dist", "verify")
    assert ended.returncode == 1
    assert "PYTHONPATH is set" in ended.stdout
    assert "Python is not isolated" in ended.stdout
    pyc = environment.site / "doorward_guard_ast/__pycache__" / f"rules.{sys.implementation.cache_tag}.pyc"
    pth = environment.site / "evil.pth"
    pyc.parent.mkdir(exist_ok=True)
    with kept(pyc, pth):
        pth.write_text("import this_is_nowhere if False else None\n")
        whole = environment.site / "doorward_guard_ast/__pycache__" / f"__init__.{sys.implementation.cache_tag}.pyc"
        served.run("list")
        pyc.write_bytes(whole.read_bytes())
        told = [problem["what"] for problem in verified(served, "verify")["problems"]]
        assert any("evil.pth is run at each start" in what for what in told)
        assert any("was not compiled from rules.py" in what for what in told)


# What the build refuses

WRONG: dict[str, tuple[str, str, str]] = {
    "a misspelt table": ("[locked]\n", "[lockd]\n", "unknown key 'lockd'; did you mean 'locked'?"),
    "a key below a table": ("[branding]\n", '[branding]\nallow-extra = ["x"]\n', "'allow-extra' stands below [branding]"),
    "a misspelt key": ("[branding]\n", "[branding]\ntitel = 'x'\n", "did you mean 'title'?"),
    "no list": ('plugins = ["ast", "acme_pages", "audit_jsonl"]', 'plugins = "ast"', "required.plugins"),
    "a key that no configuration has": ("calls = 200", "cals = 200", "did you mean 'calls'?"),
    "a setting that the plugin does not have": ("[locked.hooks.ast]\nallow", "[locked.hooks.ast]\nalow", "did you mean 'allow'?"),
    "an option that the source does not have": ("base_url", "base_ulr", "did you mean 'base_url'?"),
    "a range": ('"doorward-openapi==0.1.0"', '"doorward-openapi>=0.1"', "does not pin one version"),
    "no core": ('  "doorward==0.1.0",\n', "", "doorward is missing"),
    "a package that nobody has": ('"doorward-openapi==0.1.0"', '"doorward-openapi==7.7"', "pip failed"),
    "a required plugin that nothing brings": ('"ast", "acme_pages"', '"asd", "acme_pages"', "did you mean 'ast'?"),
    "a module that is not there": ("pages:Pages", "page:Pages", "src has no module 'page'"),
    "a lock that a user opens": ('spec = "${distribution}', 'spec = "${HOME}', "refers to a variable"),
    "a file beside the user's own": ('spec = "${distribution}/', 'spec = "', "is a file of this distribution"),
    "a hook that nobody has": ('lock = ["http"]', 'lock = ["http", "hooks.audit_jsnl"]', "did you mean 'audit_jsonl'?"),
    "hashes by hand": ("[branding]\n", '[files]\ndoorward = "sha256:' + 64 * "0" + '"\n[branding]\n', "written when"),
}  # fmt: skip


@pytest.mark.parametrize(("old", "new", "said"), WRONG.values(), ids=list(WRONG))
def test_what_is_wrong_in_the_source_is_told(tmp_path: Path, built: Path, old: str, new: str, said: str) -> None:
    """Nothing is passed over: each mistake ends the build with one line that says what and where."""
    shutil.copytree(SOURCE, tmp_path / "source")
    file = tmp_path / "source/distribution.toml"
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new, 1))
    ended = build(tmp_path / "source", built, tmp_path / "out")
    assert ended.returncode == 2, ended.stdout
    assert said in ended.stderr
    assert not (tmp_path / "out").exists()


def test_the_same_source_makes_the_same_wheel(tmp_path: Path, built: Path) -> None:
    """Byte by byte, wherever and whenever it is built."""
    for folder in ("one", "two"):
        assert build(SOURCE, built, tmp_path / folder).returncode == 0
    one, two = (next((tmp_path / folder).glob("*.whl")) for folder in ("one", "two"))
    assert one.read_bytes() == two.read_bytes()
