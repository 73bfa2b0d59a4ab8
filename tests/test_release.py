"""What is published: sdists and wheels of every distribution, and the order in which they go."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import agent_packages
import make_release
import publish_distributions as publishing
import pytest
from build_distributions import build, problems

from distributions import Distribution, distributions

pytestmark = pytest.mark.slow

OURS = {one.name: one for one in distributions()}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist and the wheel of every distribution."""
    folder = tmp_path_factory.mktemp("dist")
    for one in OURS.values():
        build(one, folder)
    return folder


@pytest.mark.parametrize("one", OURS.values(), ids=OURS)
def test_every_distribution_is_fit_to_be_published(one: Distribution, built: Path) -> None:
    """Its wheel has what git has below src, the licence and the README, no test, and is that of its sdist."""
    assert list(problems(one, *(built / name for name in one.files))) == []


def test_the_index_would_take_them(built: Path) -> None:
    """`twine check --strict`: descriptions that can be shown, and metadata without warnings."""
    command = [sys.executable, "-m", "twine", "--no-color", "check", "--strict", *map(str, built.iterdir())]
    checked = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (checked.returncode, checked.stdout.count("PASSED")) == (0, 2 * len(OURS)), checked.stdout


def test_what_is_built_again_is_the_same(built: Path, tmp_path: Path) -> None:
    """Byte by byte, whatever the time and wherever it is built."""
    again = build(OURS["doorward-jail"], tmp_path)
    assert [file.read_bytes() for file in again] == [(built / file.name).read_bytes() for file in again]


def test_what_is_wrong_is_found(built: Path, tmp_path: Path) -> None:
    """A file that git does not have, a test, a licence that is another, and an sdist that makes another wheel."""
    one = OURS["doorward-secrets"]
    sdist, wheel = (Path(shutil.copy(built / name, tmp_path)) for name in one.files)
    with zipfile.ZipFile(wheel) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    files |= {"doorward_secrets/.env": b"TOKEN=1", "doorward_secrets/test_x.py": b""}
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, b"mine" if name.endswith("/LICENSE") else content)
    found = "\n".join(problems(one, sdist, wheel))
    assert all(told in found for told in (".env", "has tests", "no licence", "sdist is another one"))


def test_each_goes_after_what_it_needs() -> None:
    """At no time is one there that cannot be installed."""
    there: set[str] = set()
    for one in distributions():
        assert one.needs & OURS.keys() <= there, one.name
        there.add(one.name)
    assert there == OURS.keys()


def test_all_can_be_published_and_again(built: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """To a real index, by the program that does it for the public one; what is there already is passed over."""
    index = tmp_path / "index"
    index.mkdir()
    with publishing.local_index(index) as url:
        publishing.to_local(built, url)
        assert {file.name: file.read_bytes() for file in index.iterdir()} == {
            file.name: file.read_bytes() for file in built.iterdir()
        }
        capfd.readouterr()
        publishing.to_local(built, url)
    assert capfd.readouterr().err.count("already exists") == 2 * len(OURS)


def test_nothing_is_published_by_halves(built: Path, tmp_path: Path) -> None:
    """Where a file is missing nothing is uploaded, and what to do is said."""
    for file in built.iterdir():
        shutil.copy(file, tmp_path)
    (tmp_path / OURS["doorward-openapi"].files[1]).unlink()
    with pytest.raises(SystemExit, match=r"First: make dist.*doorward_openapi"):
        publishing.files(tmp_path)


def test_an_sdist_has_what_git_has(built: Path) -> None:
    """And the licence and its metadata, nothing that lies about in a folder."""
    one = OURS["doorward"]
    with tarfile.open(built / one.files[0]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"LICENSE", "PKG-INFO", "README.md", "pyproject.toml"} <= names
    assert not [name for name in names if name.endswith((".pyc", ".db", ".env"))]


def test_what_agents_take_starts_this_version(tmp_path: Path) -> None:
    """`server.json`, the bundle and the plugin: the bundle is the same bytes each time, and a wrong version is found."""
    for folder in ("a", "b"):
        agent_packages.write(tmp_path / folder)
    assert [*agent_packages.problems(tmp_path / "a")] == []
    first, second = ((tmp_path / each / agent_packages.BUNDLE).read_bytes() for each in ("a", "b"))
    assert first == second
    file = tmp_path / "a" / "server.json"
    file.write_text(file.read_text().replace(agent_packages.project()["version"], "7.0.0"))
    assert [*agent_packages.problems(tmp_path / "a")] != []


def test_all_of_a_release_has_its_version(tmp_path: Path) -> None:
    """Distributions, what they need of each other, and what examples pin; what is no version of ours stays."""
    root = tmp_path / "clone"
    make_release.git("clone", "--quiet", "--local", str(make_release.ROOT), str(root))
    before = OURS["doorward"].project["version"]
    make_release.set_version(root, before, "99.1.0")
    for one in OURS.values():
        project = Distribution(root / one.folder.relative_to(make_release.ROOT)).project
        assert project["version"] == "99.1.0"
        told = [*project["dependencies"], *(n for ns in project.get("optional-dependencies", {}).values() for n in ns)]
        assert all(need.endswith(">=99.1,<100") for need in told if need.startswith("doorward")), one.name
    assert "99.1.0" in (root / "core/src/doorward/model/version.py").read_text()
    assert f"=={before}" not in (root / "distributions/acme/distribution.toml").read_text()
    assert make_release.series("0.2.1") == ">=0.2,<0.3"
    assert "is no version" in make_release.refusal("1.0", before)
    assert "comes before" in make_release.refusal("0.0.1", before)


def test_pages_say_since_when(tmp_path: Path) -> None:
    """From the second release on, what is added is marked in a page: the release demands it, and writes its version."""
    page, change = tmp_path / "docs" / "runs.md", tmp_path / "changes" / "x.added.md"
    for file, text in ((page, "# Runs\n"), (change, "A thing.\n")):
        file.parent.mkdir()
        file.write_text(text)
    assert make_release.unmarked(tmp_path, is_first=True) == ""
    assert "x.added.md" in make_release.unmarked(tmp_path, is_first=False)
    page.write_text(f"# Runs\n\n{make_release.NEXT}: `--fast`.\n")
    assert make_release.unmarked(tmp_path, is_first=False) == ""
    for words in (("init", "--quiet"), ("add", ".")):
        make_release.git(*words, cwd=tmp_path)
    make_release.set_version(tmp_path, "0.1.0", "0.2.0")
    assert page.read_text() == "# Runs\n\nNew in 0.2.0: `--fast`.\n"
