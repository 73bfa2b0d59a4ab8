"""What keeps the habits of the project: tests that do not wait, fragments of the changelog, hooks before a commit, the workflow, forms, who
reviews."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parent.parent
CHANGES = ROOT / "changes"
GITHUB = ROOT / ".github"
FORMS = [file for file in (GITHUB / "ISSUE_TEMPLATE").glob("*.yml") if file.name != "config.yml"]
FRAGMENTS = [file for file in CHANGES.iterdir() if file.name not in ("README.md", "template.md")]
WIDTH = 150
"""Characters of a line of a fragment, which stands behind a star."""


CLOCKS = {"fail_after", "monotonic", "move_on_after", "perf_counter", "process_time", "sleep", "wait_for"}


def waits_of_quick_tests(text: str) -> list[str]:
    """The names of tests that are not marked `slow`, with what they wait for or measure. `sleep(0)` is a turn of the loop."""
    waits = []

    def is_slow(marks: list[ast.expr]) -> bool:
        return any(isinstance(part, ast.Attribute) and part.attr == "slow" for mark in marks for part in ast.walk(mark))

    def visit(body: list[ast.stmt], slow: bool) -> None:
        marks = [
            node.value for node in body if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark"
        ]
        slow = slow or is_slow(marks)
        for node in body:
            if isinstance(node, ast.ClassDef):
                visit(node.body, slow or is_slow(node.decorator_list))
            elif (
                isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
                and not slow
                and not is_slow(node.decorator_list)
            ):
                waits.extend(
                    f"{node.name}: {ast.unparse(call)}" for call in clock_calls(node) if node.name.startswith("test_")
                )

    visit(ast.parse(text).body, slow=False)
    return waits


def clock_calls(test: ast.AST) -> list[ast.Call]:
    return [
        node
        for node in ast.walk(test)
        if isinstance(node, ast.Call)
        and ast.unparse(node.func).rpartition(".")[2] in CLOCKS
        and not (node.args and isinstance(node.args[0], ast.Constant) and node.args[0].value == 0)
    ]


@pytest.mark.slow
def test_quick_tests_wait_for_no_time_to_pass() -> None:
    """A test that sleeps, reads a clock or has a deadline is marked `slow`: on a busy machine it may fail."""
    folders = ("core/tests", "libs/*/tests", "plugins/*/tests")
    files = [
        *(ROOT / "tests").glob("test_*.py"),
        *(file for folder in folders for file in ROOT.glob(f"{folder}/**/test_*.py")),
    ]
    waits = {str(file): found for file in files if (found := waits_of_quick_tests(file.read_text(encoding="utf-8")))}
    assert waits == {}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("def test_a():\n    time.sleep(1)", ["test_a: time.sleep(1)"]),
        ("async def test_a():\n    await sleep(0)", []),
        ("class TestA:\n    def test_a(self):\n        with anyio.fail_after(2): ...", ["test_a: anyio.fail_after(2)"]),
        ("@pytest.mark.slow\ndef test_a():\n    time.sleep(1)", []),
        ("pytestmark = [pytest.mark.anyio, pytest.mark.slow]\ndef test_a():\n    time.sleep(1)", []),
    ],
)
def test_waits_are_found(text: str, found: list[str]) -> None:
    """The check sees what it is for."""
    assert waits_of_quick_tests(text) == found


def loaded(file: Path) -> Any:
    return yaml.safe_load(file.read_text(encoding="utf-8"))


def targets() -> set[str]:
    return set(re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))


def wrong_fragment(name: str, text: str) -> str:
    """What is wrong with a fragment; "" if nothing is."""
    kinds = [
        kind["directory"]
        for kind in tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["towncrier"]["type"]
    ]
    if not re.fullmatch(rf"[a-z0-9-]+\.({'|'.join(kinds)})(\.\d+)?\.md", name):
        return "is called otherwise than WORD.KIND.md"
    if not text.endswith(".\n") or "\n\n" in text or not 20 < len(text) < 600:
        return "is no sentence or two on lines of their own, the last with its end"
    if re.search(r"^\s*([*#-] |\s)", text, re.MULTILINE) or max(map(len, text.splitlines())) > WIDTH:
        return "has a star, a heading, an indent or a long line"
    return ""


@pytest.mark.slow
def test_fragments_are_well_formed() -> None:
    """Each says a kind that there is, and one or two sentences without a star."""
    assert {
        file.name: why for file in FRAGMENTS if (why := wrong_fragment(file.name, file.read_text(encoding="utf-8")))
    } == {}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.feature.md", "It does something new that users see.\n"),
        ("A b.added.md", "It does something new that users see.\n"),
        ("a.added.md", "* It does something new that users see.\n"),
        ("a.added.md", "It does something new that users see"),
        ("a.added.md", "It does something new.\n\nAnd another thing is told here.\n"),
        ("a.added.md", f"It does {'something ' * 20}new that users see.\n"),
        ("a.added.txt", "It does something new that users see.\n"),
    ],
)
def test_odd_fragments_are_found(name: str, text: str) -> None:
    """The check sees what it is for."""
    assert wrong_fragment(name, text)
    assert not wrong_fragment("a-b.added.2.md", "It does something new that users see.\n")


@pytest.mark.slow
def test_the_changelog_can_be_built(tmp_path: Path) -> None:
    """What `make changelog` writes has each fragment below its kind, behind a star, before what was there; then they
    are gone."""
    pytest.importorskip("towncrier", reason="towncrier is absent: make setup")
    for name in ("pyproject.toml", "CHANGELOG.md"):
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    (tmp_path / "changes").mkdir()
    (tmp_path / "changes/template.md").write_bytes((CHANGES / "template.md").read_bytes())
    (tmp_path / "changes/odd.fixed.md").write_text("What was wrong\nis right.\n")
    (tmp_path / "changes/new.added.md").write_text("There is `more` of it.\n")
    for words in (["init", "--quiet"], ["add", "changes"]):  # it tells git of what it writes and removes
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    build = [sys.executable, "-m", "towncrier", "build", "--yes", "--version", "7.0.0", "--date", "2030-01-02"]
    subprocess.run(build, cwd=tmp_path, check=True, capture_output=True)
    before, after = ((folder / "CHANGELOG.md").read_text(encoding="utf-8") for folder in (ROOT, tmp_path))
    made = "## [7.0.0] - 2030-01-02\n\n### Added\n\n* There is `more` of it.\n\n### Fixed\n\n* What was wrong\n  is right.\n"
    head, mark, rest = before.partition("stands below -->\n")
    assert mark
    assert after.startswith(f"{head}{mark}\n{made}")
    assert after.endswith(rest)
    assert [file.name for file in (tmp_path / "changes").iterdir()] == ["template.md"]


def test_hooks_before_a_commit_are_those_of_lint() -> None:
    """They are local, and run what `make lint` runs, by the tools that `make setup` installs."""
    config = loaded(ROOT / ".pre-commit-config.yaml")
    lint = (ROOT / "Makefile").read_text(encoding="utf-8").partition("\nlint:")[2].partition("\n\n")[0]
    for repository in config["repos"]:
        assert repository["repo"] == "local"
        for hook in repository["hooks"]:
            assert {"id", "name", "entry", "language"} <= hook.keys()
            assert hook["language"] == "system"
            tool, word, *_ = hook["entry"].split()
            assert word in targets() if tool == "make" else f"{tool.rpartition('/')[2]} {word}" in lint, hook["id"]


@pytest.mark.parametrize("file", sorted((GITHUB / "workflows").glob("*.yml")), ids=lambda file: file.name)
def test_workflows_run_what_there_is(file: Path) -> None:
    """Each job says where it runs and what, may only read, and calls targets and scripts that exist."""
    workflow = loaded(file)
    assert {"name", "permissions", "jobs"} <= workflow.keys()
    assert True in workflow, "YAML takes `on` for a truth value"
    assert workflow["permissions"] == {"contents": "read"}
    for name, job in workflow["jobs"].items():
        assert {"runs-on", "timeout-minutes", "steps"} <= job.keys(), name
        for step in job["steps"]:
            assert ("uses" in step) != ("run" in step), name
            assert re.fullmatch(r"actions/[\w-]+@v\d+", step.get("uses", "actions/any@v1")), name
            run = step.get("run", "")
            assert set(re.findall(r"\bmake (?:[A-Z]+=\S+ )*([a-z-]+)", run)) <= targets(), name
            assert all((ROOT / script).is_file() for script in re.findall(r"(?:^|\s)(\.ci/\S+)", run)), name
            assert all((ROOT / script).is_file() for script in re.findall(r"\S+\.txt", run)), name


def test_the_workflow_has_every_python_and_system() -> None:
    """Each version that the distributions are for, on Linux, macOS and Windows; all that CI runs on Linux."""
    jobs = loaded(GITHUB / "workflows/ci.yml")["jobs"]
    for job in ("linux", "elsewhere"):
        assert jobs[job]["strategy"]["matrix"]["python"] == ["3.11", "3.12", "3.13", "3.14"]
    systems = {str(job["runs-on"]) for job in jobs.values()} | {*jobs["elsewhere"]["strategy"]["matrix"]["system"]}
    assert {"ubuntu-latest", "macos-latest", "windows-latest"} <= systems
    assert any(step.get("run") == ".ci/run" for job in jobs.values() for step in job["steps"])


@pytest.mark.parametrize("file", FORMS, ids=lambda file: file.name)
def test_issue_forms_have_what_github_wants(file: Path) -> None:
    """A name, a description, and fields with their labels, each with an id of its own."""
    form = loaded(file)
    assert {"name", "description", "body"} <= form.keys()
    fields = [field for field in form["body"] if field["type"] != "markdown"]
    assert {field["type"] for field in form["body"]} <= {"markdown", "textarea", "input", "dropdown", "checkboxes"}
    assert all(field["attributes"]["label"] for field in fields)
    assert all(field["attributes"]["value"] for field in form["body"] if field["type"] == "markdown")
    assert all(field["attributes"]["options"] for field in fields if field["type"] == "dropdown")
    assert len({field["id"] for field in fields}) == len(fields) > 0


def test_there_are_forms() -> None:
    assert len(FORMS) >= 2
    assert loaded(GITHUB / "ISSUE_TEMPLATE/config.yml").keys() <= {"blank_issues_enabled", "contact_links"}


def test_dependabot_has_its_keys() -> None:
    """Version 2, and an ecosystem, a folder and an interval of each update."""
    config = loaded(GITHUB / "dependabot.yml")
    assert config["version"] == 2
    for update in config["updates"]:
        assert {"package-ecosystem", "directory", "schedule"} <= update.keys()
        assert update["schedule"]["interval"] in ("daily", "weekly", "monthly")
        assert (ROOT / update["directory"].strip("/")).is_dir()


def test_code_owners_own_what_is_there() -> None:
    """Each line of CODEOWNERS fits something, and names who is asked."""
    for line in (GITHUB / "CODEOWNERS").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            pattern, *owners = line.split()
            assert owners, line
            assert all(re.fullmatch(r"@[\w-]+/[\w-]+", owner) for owner in owners), line
            assert pattern == "*" or list(ROOT.glob(pattern.strip("/"))), line


@pytest.mark.slow
def test_agents_are_led_to_what_people_read() -> None:
    """AGENTS.md is short, and leads to the pages with the rules."""
    text = (ROOT / "AGENTS.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) < 40
    assert all(page in text for page in ("CONTRIBUTING.md", "ARCHITECTURE.md", "SECURITY.md", "changes/"))
