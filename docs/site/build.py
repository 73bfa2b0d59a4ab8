"""The site: the pages of this repository, laid out by `mkdocs.yml`, as HTML that needs no network.

`python docs/site/build.py` writes it to `site/`. Each page lies beside its HTML as `.md`; `llms.txt` lists all pages
for language models, and `llms-full.txt` has all of them in one file. Zensical ignores options and plugins that it does
not know and checks few links: `dead_links` and `unlisted` check the result.
"""

from __future__ import annotations

import argparse
import os
import posixpath
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import yaml

ROOT = Path(__file__).resolve().parent.parent.parent
STAGED = ROOT / ".venv/pages"
SITE = ROOT / "site"
LINK = re.compile(r"(?<!\\)(!?)\[([^\[\]]*)\]\(([^)\s]+)\)")
IMAGE = re.compile(r'(?<=(?:src|set)=")[^":]+(?=")')
FENCED = re.compile(r"^(?P<fence> *`{3,}).*?^(?P=fence)$", re.MULTILINE | re.DOTALL)
PAGES = {
    "README.md": "index.md",
    "docs/README.md": "pages.md",
    "docs/reference/README.md": "reference/index.md",
    "ARCHITECTURE.md": "architecture.md",
    "SECURITY.md": "security.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "benchmarks/README.md": "benchmarks.md",
    "examples/README.md": "examples.md",
    "release/README.md": "release.md",
    "changes/README.md": "changes.md",
    "core/README.md": "parts/core.md",
}
"""Pages outside `docs/` and where the site has them."""


def pages() -> dict[str, str]:
    """The path of each page, from the root of the repository, to its path on the site."""
    docs = {f"docs/{file.relative_to(ROOT / 'docs').as_posix()}" for file in (ROOT / "docs").rglob("*.md")}
    parts = [*ROOT.glob("plugins/*/README.md"), *ROOT.glob("libs/*/README.md"), *ROOT.glob("distributions/*/README.md")]
    return (
        {path: path.removeprefix("docs/") for path in sorted(docs)}
        | {file.relative_to(ROOT).as_posix(): f"parts/{file.parent.name}.md" for file in sorted(parts)}
        | PAGES
    )


def file_path(source: str) -> str:
    """Where the site has a file that is no page. It has no hidden folders."""
    return source.removeprefix("docs/").lstrip(".")


def relink(text: str, source: str, known: dict[str, str]) -> tuple[str, set[str]]:
    """The text of the page `source` with its links as the site has them, and the other files to which it links.

    A link to a folder becomes its text, because the site lists no folders.
    """
    files: set[str] = set()
    folder = posixpath.dirname(known[source]) or "."

    def place(target: str) -> str | None:
        path, hash_sign, anchor = target.partition("#")
        if urlsplit(target).scheme or not path:
            return target
        found = posixpath.normpath(posixpath.join(posixpath.dirname(source), path))
        if f"{found}/README.md" in known:
            found = f"{found}/README.md"
        if (ROOT / found).is_dir():
            return None
        if found not in known:
            files.add(found)
        there = known.get(found) or file_path(found)
        return posixpath.relpath(there, folder) + hash_sign + anchor

    def link(match: re.Match[str]) -> str:
        to = place(match[3])
        return f"{match[1]}[{match[2]}]({to})" if to else match[2]

    done, end = "", 0
    for fenced in [*(match.span() for match in FENCED.finditer(text)), (len(text), len(text))]:
        prose = LINK.sub(link, text[end : fenced[0]])
        done += IMAGE.sub(lambda match: place(match[0]) or match[0], prose) + text[slice(*fenced)]
        end = fenced[1]
    return done, files


def stage() -> None:
    """Write all pages, and the files to which they link, as the site has them."""
    shutil.rmtree(STAGED, ignore_errors=True)
    known = pages()
    for source, path in known.items():
        text, files = relink((ROOT / source).read_text(encoding="utf-8"), source, known)
        write(STAGED / path, text)
        for file in files:
            there = STAGED / file_path(file)
            there.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / file, there)
    shutil.copytree(ROOT / "docs/site/theme", STAGED / "theme")


def write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


def navigation() -> list[tuple[str, str, str]]:
    """Each page of the navigation: its section, its title there, its path."""
    found: list[tuple[str, str, str]] = []

    def walk(entries: list[dict[str, object]], section: str) -> None:
        for entry in entries:
            for title, value in entry.items():
                if isinstance(value, list):
                    walk(value, section or title)
                else:
                    found.append((section, title, str(value)))

    walk(yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))["nav"], "")
    return found


def summary(text: str) -> str:
    """The first sentence of a page's first paragraph, in plain text."""
    prose = FENCED.sub("", text)
    paragraph = next((p for p in prose.split("\n\n") if re.match(r"[A-Z*`\[]", p)), "")
    plain = LINK.sub(r"\2", " ".join(paragraph.replace("**", "").split()))
    return re.split(r"(?<=\.)\s(?=[A-Z])", plain)[0]


def for_models(site: Path) -> None:
    """Write `llms.txt`, `llms-full.txt` and the source of each page."""
    listed, whole, section = ["# Doorward", ""], [], ""
    texts = {file.relative_to(STAGED).as_posix(): file.read_text(encoding="utf-8") for file in STAGED.rglob("*.md")}
    for path, text in texts.items():
        write(site / path, text)
    listed.append(f"> {summary(texts['index.md'])}")
    for group, title, path in navigation():
        if group != section:
            section = group
            listed += ["", f"## {section}", ""]
        listed.append(f"- [{title}]({path}): {summary(texts[path])}")
        whole.append(f"<!-- {path} -->\n\n{texts[path].strip()}\n")
    write(site / "llms.txt", "\n".join(listed) + "\n")
    write(site / "llms-full.txt", "\n".join(whole))


class Document(HTMLParser):
    """What one HTML file links to, loads and can be linked to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.loaded: set[str] = set()
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if not value:
                continue
            if name == "id" or (tag == "a" and name == "name"):
                self.anchors.add(value)
            elif tag == "a" and name == "href":
                self.links.add(value)
            elif name in ("src", "srcset", "data") or (tag == "link" and name == "href"):
                self.loaded.add(value)


def dead_links(site: Path) -> list[str]:
    """Links to files or anchors that do not exist, and files that are loaded from elsewhere."""
    documents = {file: Document(file.read_text(encoding="utf-8")) for file in sorted(site.rglob("*.html"))}
    documents.pop(site / "404.html", None)  # its links begin at the root of a server
    found = []
    for file, document in documents.items():
        name = file.relative_to(site).as_posix()
        for target in sorted(document.links | document.loaded):
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                if target in document.loaded and parts.scheme != "data":
                    found.append(f"{name} loads {target}")
                continue
            there = Path(os.path.normpath(file.parent / unquote(parts.path))) if parts.path else file
            if not there.is_file():
                found.append(f"{name} links to {target}, which does not exist")
            elif parts.fragment and there in documents and unquote(parts.fragment) not in documents[there].anchors:
                found.append(f"{name} links to {target}, which has no such anchor")
    return found


def unlisted(site: Path) -> list[str]:
    """Pages that the navigation does not have, or that were not built."""
    listed = {path for _, _, path in navigation()}
    staged = {file.relative_to(STAGED).as_posix() for file in STAGED.rglob("*.md")}
    missing = [f"{path} is not in the navigation of mkdocs.yml" for path in sorted(staged - listed)]
    return missing + [
        f"{path} was not built" for path in sorted(listed) if not (site / path).with_suffix(".html").is_file()
    ]


def main() -> None:
    argparse.ArgumentParser(description="Build the site into the folder site/.").parse_args()
    stage()
    shutil.rmtree(SITE, ignore_errors=True)
    words = [
        str(Path(sys.executable).parent / "zensical"),
        "build",
        "--clean",
        "--strict",
        "--config-file",
        "mkdocs.yml",
    ]
    built = subprocess.run(words, cwd=ROOT, check=False)  # noqa: S603
    if built.returncode:
        sys.exit(built.returncode)
    for_models(SITE)
    if found := dead_links(SITE) + unlisted(SITE):
        sys.exit("\n".join(found))


if __name__ == "__main__":
    main()
