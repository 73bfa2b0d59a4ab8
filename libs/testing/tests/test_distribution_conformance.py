"""Each mistake in a distribution fails the test that is about it, with a sentence that says what to do."""

from __future__ import annotations

from typing import Any

import pytest

from .conftest import Failures

pytestmark = pytest.mark.slow

TEST = """
from doorward_testing import DistributionConformance


class TestAcme(DistributionConformance):
    distribution = "acme-doorward"
"""

MANIFEST = """
[defaults]
surface = "minimal"
[locked]
plugins = ["office"]
[locked.limits]
timeout = 20
calls = 100
[required]
plugins = ["office"]
"""

OFFICE = """
import doorward

@doorward.hookimpl
def guard_call(call):
    return None
"""

FILES = {
    "acme_doorward/__init__.py": "",
    "acme_doorward/distro.toml": MANIFEST,
    "acme_doorward-1.0.dist-info/METADATA":
        "Metadata-Version: 2.1\nName: acme-doorward\nVersion: 1.0\nRequires-Dist: acme-office==2.0\n",
    "acme_doorward-1.0.dist-info/entry_points.txt": "[doorward.distro]\nacme = acme_doorward\n",
    "office.py": OFFICE,
    "acme_office-2.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: acme-office\nVersion: 2.0\n",
    "acme_office-2.0.dist-info/entry_points.txt": "[doorward.plugins]\noffice = office\n",
}  # fmt: skip

MISTAKES = {
    "not installed": (
        ("acme_doorward-1.0.dist-info/entry_points.txt", "[doorward.distro]", "[other]"),
        "test_it_starts",
        "acme-doorward has no entry point in doorward.distro here: install it",
    ),
    "no pin": (
        ("acme_doorward-1.0.dist-info/METADATA", "acme-office==2.0", "acme-office>=2.0"),
        "test_plugins_are_pinned",
        "'acme-office>=2.0' is no pin: write acme-office==VERSION",
    ),
    "another version": (
        ("acme_office-2.0.dist-info/METADATA", "Version: 2.0", "Version: 2.1"),
        "test_plugins_are_pinned",
        "acme-office is pinned to 2.0, and 2.1 is here",
    ),
    "nothing is pinned": (
        ("acme_doorward-1.0.dist-info/METADATA", "Requires-Dist: acme-office==2.0\n", ""),
        "test_plugins_are_pinned",
        "it pins no plugin",
    ),
    "a wrong value": (
        ("acme_doorward/distro.toml", 'surface = "minimal"', 'surface = "tiny"'),
        "test_it_starts",
        "a user who configures nothing reads:",
    ),
    "a plugin that is not there": (
        ("acme_doorward/distro.toml", 'plugins = ["office"]', 'plugins = ["offices"]'),
        "test_it_starts",
        "no plugin named 'offices'",
    ),
}


@pytest.fixture
def distribution(failures: Failures, pytester: Any) -> Any:
    """Runs the tests of a distribution, one of whose files is changed."""

    def run(file: str = "", old: str = "", new: str = "", test: str = "") -> dict[str, str]:
        for name, text in FILES.items():
            place = pytester.path / name
            place.parent.mkdir(exist_ok=True)
            assert name != file or old in text
            place.write_text(text.replace(old, new) if name == file else text)
        return failures(TEST, test)

    return run


def test_a_good_one_passes(distribution: Any) -> None:
    """A distribution without mistakes has no failure."""
    assert distribution() == {}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_told(distribution: Any, mistake: str) -> None:
    """In the test that is about it, in one message, without our own frames."""
    change, test, message = MISTAKES[mistake]
    found = distribution(*change, test)
    assert message in found[test], found
    assert "doorward_testing" not in found[test], found[test]
