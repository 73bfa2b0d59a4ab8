"""`docs/contract.md` against the tests: what it calls done is proved by a test that says so.

`python tests/test_contract.py` writes the page's test column anew, from the docstrings of all tests.
"""

from __future__ import annotations

import ast
import functools
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/contract.md"
LAST = {
    "SRC": 26, "DIS": 20, "EXE": 23, "SBX": 25, "SEC": 16, "AUT": 18, "CAC": 7, "SKL": 8, "TLF": 6, "MCP": 17, "LLM": 11,
    "OUT": 5, "CLI": 12, "OBS": 4, "DEP": 5, "TST": 5,
}  # fmt: skip
"""The rows of the contract, by the number of the last one of each subject."""
MORE = ("LLM-20", "LLM-21")
THROUGH = (
    "tests/served/test_main_job.py", "tests/served/", "tests/peers/",
    "plugins/cli/tests/", "plugins/enhance/tests/", "plugins/mcp_server/tests/", "core/tests/test_gateway.py",
    "plugins/cache_sqlite/tests/test_kept_programs.py",
    "plugins/cache_sqlite/tests/test_saved_programs.py",
    "examples/demo/tests/test_demo_command.py", "examples/demo/tests/test_demo_examples.py",
    "tests/test_docs.py", "tests/test_repository.py",
)  # fmt: skip
"""Where tests go through the served MCP interface, the command line or the gateway, the best first. The last two prove
rows about documents and the repository itself."""
STATES = ("done", "replaced by", "not yet")

_CLAIM = re.compile(r"CONTRACT:\s*((?:[A-Z]{3}-\d\d[,\s]*)+)")
_LINE = re.compile(r"\| ([A-Z]{3}-\d\d) \| (.+) \| (.+) \| (.+) \|")


class Row(NamedTuple):
    """A line of the page. `tests` are as the page names them: `file::name`, without the backticks."""

    number: str
    feature: str
    state: str
    tests: tuple[str, ...]


def page() -> list[Row]:
    found = [
        match.groups() for line in PAGE.read_text(encoding="utf-8").splitlines() if (match := _LINE.fullmatch(line))
    ]
    return [
        Row(number, feature, state, tuple(re.findall(r"`([^`]+::\w+)`", tests)))
        for number, feature, state, tests in found
    ]


def rows() -> list[str]:
    """Every number of the contract, in its order."""
    numbers = []
    for subject, last in LAST.items():
        numbers += [f"{subject}-{n:02}" for n in range(1, last + 1)]
        numbers += [more for more in MORE if more.startswith(subject)]
    return numbers


@functools.cache
def claims() -> dict[str, list[str]]:
    """Each number with the tests whose docstring claims it, those first that go through an interface."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for file in sorted(_test_files(), key=_rank):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name.startswith("test"):
                for claim in _CLAIM.findall(ast.get_docstring(node) or ""):
                    for number in re.findall(r"[A-Z]{3}-\d\d", claim):
                        found[number].append(f"{file.relative_to(ROOT)}::{node.name}")
    return dict(found)


def _test_files() -> Iterator[Path]:
    for place in (
        "core/tests",
        "libs/*/tests",
        "plugins/*/tests",
        "examples/*/tests",
        "distributions/*/tests",
        "tests",
    ):
        for folder in ROOT.glob(place):
            yield from folder.rglob("test_*.py")


def _rank(file: Path) -> tuple[int, str]:
    path = str(file.relative_to(ROOT))
    return next((n for n, place in enumerate(THROUGH) if path.startswith(place)), len(THROUGH)), path


def test_every_row_is_on_the_page() -> None:
    """Each row of the contract stands on the page once, in its order, with one of the three states."""
    assert [row.number for row in page()] == rows()
    assert [row for row in page() if not row.state.startswith(STATES)] == []


def test_every_promise_is_quoted() -> None:
    """What a row promises stands on the page in full, once for each row and in their order."""
    told = PAGE.read_text(encoding="utf-8").partition("\n## The promises in full\n")[2]
    assert re.findall(r"^\| ([A-Z]{3}-\d\d) \| [A-D](?:, [A-D])*: .{8,} \|(?: .+)? \|$", told, re.MULTILINE) == rows()


def test_only_rows_of_the_contract_are_claimed() -> None:
    """No test claims a row that there is not."""
    assert set(claims()) <= set(rows())


@pytest.mark.parametrize("row", page(), ids=lambda row: row.number)
def test_the_page_says_what_the_tests_prove(row: Row) -> None:
    """A named test exists and claims the row; what is done has one that goes through an interface; what is claimed is
    on the page."""
    claimed = claims().get(row.number, [])
    assert set(row.tests) <= set(claimed), f"{row.number}: run `python tests/test_contract.py`, or change its state"
    if row.state.startswith("done"):
        assert any(test.startswith(THROUGH) for test in row.tests), (
            f"{row.number} is called done: no test through an interface claims it"
        )
    if any(test.startswith(THROUGH) for test in claimed):
        assert row.tests, f"{row.number} is claimed by {claimed[0]}: run `python tests/test_contract.py`"


def write() -> None:
    """Name on the page, for each row, the best test that claims it; a test that still claims it stays."""
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    known = {row.number: row for row in page()}
    for at, line in enumerate(lines):
        if match := _LINE.fullmatch(line):
            row, claimed = known[match[1]], claims().get(match[1], [])
            named = [test for test in row.tests if test in claimed]
            named = named if any(test.startswith(THROUGH) for test in named) else claimed[:1]
            lines[at] = (
                f"| {row.number} | {row.feature} | {row.state} | {' '.join(f'`{test}`' for test in named) or '–'} |"
            )
    PAGE.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    write()
