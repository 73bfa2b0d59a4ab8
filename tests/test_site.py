"""The site: built strictly, every link and anchor in it leads somewhere, it loads nothing from elsewhere, and its search works in a
browser that opens it from a disk."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from peers.browse import Browser
from peers.peer import program
from served.product import module

ROOT = Path(__file__).resolve().parent.parent
BUILD: Any = module(str(ROOT / "docs/site/build.py"))


@pytest.fixture(scope="module")
def site() -> Path:
    """The built site."""
    ended = subprocess.run([sys.executable, BUILD.__file__], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return Path(BUILD.SITE)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_site_is_built_without_mistakes(site: Path) -> None:
    """Each page is HTML that the navigation has; no link and no anchor is dead, nothing is loaded from another host."""
    assert BUILD.dead_links(site) == []
    assert BUILD.unlisted(site) == []
    assert len(list(site.rglob("*.html"))) > 100


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_models_get_each_page(site: Path) -> None:
    """Beside each HTML file lies its Markdown; `llms.txt` lists it with its first sentence, and `llms-full.txt` has it."""
    listed = re.findall(r"^- \[.+\]\((\S+)\): .{10,}$", (site / "llms.txt").read_text(encoding="utf-8"), re.MULTILINE)
    built = {file.relative_to(site).with_suffix(".md").as_posix() for file in site.rglob("*.html")} - {"404.md"}
    assert sorted(listed) == sorted(built)
    whole = (site / "llms-full.txt").read_text(encoding="utf-8")
    assert [path for path in listed if (site / path).read_text(encoding="utf-8").strip() not in whole] == []


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Browser]:
    program("chromium")
    browser = Browser(str(tmp_path))
    yield browser
    browser.end()


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_search_works_from_a_disk(site: Path, browser: Browser) -> None:
    """In a browser without a network, the name of a database finds the page of its store first."""
    browser.ask("Page.navigate", url=(site / "index.html").as_uri())
    await_value(browser, f"document.readyState == 'complete' && {SEARCH} != null")
    browser.value("document.querySelector('.md-search__button').click()")
    await_value(browser, f"{SEARCH}.querySelector('dialog[open] input') != null")
    browser.ask("Input.insertText", text="PostgreSQL")
    found = await_value(browser, f"[...{SEARCH}.querySelectorAll('a')].map(link => link.href)")
    assert found[0].startswith((site / "parts/store_postgres.html").as_uri())


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_pages_fit_a_phone(site: Path, browser: Browser) -> None:
    """No page is wider than the window: a wide table or program scrolls by itself."""
    browser.ask("Emulation.setDeviceMetricsOverride", width=360, height=900, deviceScaleFactor=1, mobile=True)
    for page in ("index", "tutorial", "configuration"):
        address = (site / f"{page}.html").as_uri()
        browser.ask("Page.navigate", url=address)
        await_value(browser, f"location.href == '{address}' && document.readyState == 'complete'")
        assert browser.value("document.documentElement.scrollWidth") == 360, page


SEARCH = "[...document.querySelectorAll('*')].map(part => part.shadowRoot).find(Boolean)"
"""Where Zensical draws its search."""


def await_value(browser: Browser, script: str) -> Any:
    """The value of a script, once there is one that is not empty."""
    while not (value := browser.value(script)):
        time.sleep(0.05)
    return value


def test_mistakes_are_found(tmp_path: Path) -> None:
    """A dead link, a dead anchor and a script from elsewhere are each reported."""
    (tmp_path / "here.html").write_text('<h1 id="top"></h1><a href="#top"></a><a href="there.html#part"></a>')
    (tmp_path / "there.html").write_text('<a href="gone.html"></a><script src="https://cdn.example/x.js"></script>')
    assert BUILD.dead_links(tmp_path) == [
        "here.html links to there.html#part, which has no such anchor",
        "there.html links to gone.html, which does not exist",
        "there.html loads https://cdn.example/x.js",
    ]


@pytest.mark.slow
def test_links_lead_to_where_the_site_has_things() -> None:
    """A page outside docs, a folder with a README and another file each become what the site has in their place."""
    known = {"docs/start.md": "start.md", "SECURITY.md": "security.md", "plugins/llm/README.md": "parts/llm.md"}
    text = "[s](../SECURITY.md#a) [p](../plugins/llm) [f](../examples/doorward.toml) [d](../examples) [w](https://a.example)"
    assert BUILD.relink(text, "docs/start.md", known) == (
        "[s](security.md#a) [p](parts/llm.md) [f](examples/doorward.toml) d [w](https://a.example)",
        {"examples/doorward.toml"},
    )
    assert (
        BUILD.relink("```\n[s](../SECURITY.md)\n```\n", "docs/start.md", known)[0] == "```\n[s](../SECURITY.md)\n```\n"
    )
