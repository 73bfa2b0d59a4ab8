"""`make release VERSION=0.2.0`: makes a release in a clone of this repository, and checks all of it.

Versions, changelog, tag, distributions, what agents take, site, publication to an index of this machine, and the image
where there is Docker. Nothing changes here before all is well, and nothing at all without `--really`: then the commit
and the tag of the clone are taken over. What is left for a person says release/README.md.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from distributions import ROOT, Distribution

CLONE = ROOT / ".venv" / "release"
_VERSION = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)")
NEXT = "New in the next release"
"""What a page says of something that no release has. A release writes its version there: "New in 0.2.0"."""
_LEFT_ALONE = re.compile(r"CHANGELOG\.md|changes/.*|requirements-dev\..*|docs/pictures/.*")


def git(*words: str, cwd: Path = ROOT) -> str:
    return subprocess.run(["git", *words], cwd=cwd, check=True, capture_output=True, text=True).stdout.strip()


def series(version: str) -> str:
    """The versions that fit those who need this one: `>=0.1,<0.2`; from 1.0 on `>=1.2,<2`."""
    major, minor, _ = map(int, version.split("."))
    return f">={major}.{minor},<{f'0.{minor + 1}' if major == 0 else major + 1}"


def with_version(text: str, before: str, now: str) -> str:
    """A file that names the version of Doorward, with the next one."""
    text = re.sub(rf"(doorward[-\w]*(?:\[[\w,-]+\])?(?:==|@|/)){re.escape(before)}\b", rf"\g<1>{now}", text)
    if series(before) != series(now):
        own = rf'(doorward[-\w]*(?:\[[\w,-]+\])?|RANGE = "){re.escape(series(before))}'
        text = re.sub(own, rf"\g<1>{series(now)}", text)
    return text


def set_version(root: Path, before: str, now: str) -> None:
    """Have all files of a repository name the next version."""
    for name in git("ls-files", cwd=root).splitlines():
        file = root / name
        if _LEFT_ALONE.fullmatch(name) or file.suffix not in (".toml", ".txt", ".md", ".py", ".json", ".ini", ".yaml"):
            continue
        text = file.read_text(encoding="utf-8")
        changed = with_version(text, before, now)
        if name.startswith("docs/"):
            changed = changed.replace(NEXT, f"New in {now}")
        if file.name == "pyproject.toml":
            changed = re.sub(rf'^version = "{re.escape(before)}"$', f'version = "{now}"', changed, count=1, flags=re.M)
        if file.name == "Chart.yaml":
            changed = re.sub(rf'^(version: |appVersion: "){re.escape(before)}', rf"\g<1>{now}", changed, flags=re.M)
        if name == "core/src/doorward/model/version.py":
            changed = changed.replace(f'__version__ = "{before}"', f'__version__ = "{now}"')
        if changed != text:
            file.write_text(changed, encoding="utf-8")


def refusal(version: str, before: str) -> str:
    """Why no release of this version can be made; "" if one can."""
    if not _VERSION.fullmatch(version):
        return f"{version!r} is no version such as 0.2.0"
    if tuple(map(int, version.split("."))) < tuple(map(int, before.split("."))):
        return f"{version} comes before {before}"
    if git("tag", "--list", f"v{version}"):
        return f"there is a tag v{version}"
    if git("status", "--porcelain"):
        return "something is not committed: a release is made of what git has"
    return unmarked(ROOT, is_first=not git("tag", "--list", "v*"))


def unmarked(root: Path, *, is_first: bool) -> str:
    """Why readers could not tell what is new; "" if they can. Of a first release all is new, and nothing is marked."""
    added = [*(root / "changes").glob("*.added.md")]
    if is_first or not added or any(NEXT in file.read_text(encoding="utf-8") for file in (root / "docs").rglob("*.md")):
        return ""
    return f"changes/{added[0].name} and others add something, and no page says {NEXT!r}"


def python(*words: str) -> Callable[[], None]:
    """A step: a program of the clone. It ends the release if it fails."""

    def run() -> None:
        if subprocess.run([sys.executable, *words], cwd=CLONE, check=False).returncode:
            sys.exit(f"{words[0]} failed: nothing was released. Its clone: {CLONE}")

    return run


def committed(version: str) -> None:
    git("add", "--all", cwd=CLONE)
    git("commit", "--quiet", "--message", f"Doorward {version}", cwd=CLONE)
    git("tag", "--annotate", f"v{version}", "--message", f"Doorward {version}", cwd=CLONE)


def image() -> None:
    """Build the server image, where there is Docker: elsewhere it says that it has not."""
    if (
        shutil.which("docker") is None
        or subprocess.run(["docker", "info"], capture_output=True, check=False).returncode
    ):
        print("There is no Docker here: the image is not checked.")
        return
    shutil.copy(CLONE / "requirements-dev.txt", CLONE / "dist" / "constraints.txt")
    if subprocess.run(["docker", "build", "--file", "deploy/Dockerfile", "dist"], cwd=CLONE, check=False).returncode:
        sys.exit("The image cannot be built: nothing was released.")


def main() -> None:
    parser = argparse.ArgumentParser(description="Make and check a release.")
    parser.add_argument("version")
    parser.add_argument("--really", action="store_true", help="take over its commit and tag, when all is well")
    parser.add_argument("--quick", action="store_true", help="without site, publication and image")
    options = parser.parse_args()
    version, before = options.version, Distribution(ROOT / "core").project["version"]
    if why := refusal(version, before):
        sys.exit(why)
    shutil.rmtree(CLONE, ignore_errors=True)
    git("clone", "--quiet", "--local", str(ROOT), str(CLONE))
    for key in ("user.name", "user.email"):
        git("config", key, git("log", "-1", f"--format=%{'an' if key == 'user.name' else 'ae'}"), cwd=CLONE)
    set_version(CLONE, before, version)
    steps: list[Callable[[], None]] = [
        python("-m", "towncrier", "build", "--yes", "--version", version),
        lambda: committed(version),
        python("release/build_distributions.py"),
        python("release/agent_packages.py"),
    ]
    if not options.quick:
        steps += [python("docs/site/build.py"), python("release/publish_distributions.py"), image]
    for step in steps:
        step()
    if not options.really:
        print(f"Doorward {version} can be released; this was a rehearsal. REALLY=1 takes its commit and tag over.")
        return
    git("fetch", "--quiet", str(CLONE), f"refs/tags/v{version}:refs/tags/v{version}")
    git("merge", "--quiet", "--ff-only", f"v{version}")
    for folder in ("dist", "dist-agents", *([] if options.quick else ["site"])):
        shutil.rmtree(ROOT / folder, ignore_errors=True)
        shutil.copytree(CLONE / folder, ROOT / folder)
    print(f"Doorward {version} is committed and tagged v{version}. Then, see release/README.md: git push --follow-tags")


if __name__ == "__main__":
    main()
