"""The console in a real browser: each page at the width of a phone and of a desk, with what agents have really done; a
yes from a phone lets an agent go on that waits; without JavaScript, too."""

from __future__ import annotations

import asyncio
import base64
import html
import json
import os
import re
from collections.abc import AsyncIterator, Iterator
from functools import partial
from pathlib import Path

import anyio.to_thread
import pytest
from peers.browse import Browser
from peers.peer import CACHE, program

from .conftest import LIMITS, SHELF
from .product import Api, Project, connected, until

pytestmark = [pytest.mark.anyio, pytest.mark.slow, pytest.mark.timeout(600)]

RULE = """
[approvals]
wait = 120

[runs]
durable = "always"

[[budgets]]
calls = 50

[console]
operators = ["ann"]

[[policy.rules]]
class = "write"
then = "confirm"
reason = "writes need a person"
"""
HOSTILE = "<script>document.title='taken'</script><img src=x onerror=\"document.title='taken'\">"
READS = """\
import shelf
names = []
for ms in (5, 40, 15, 80):
    shelf.slow(ms=ms)
    names.append(ms)
print("looked at", len(names), "shelves")
result = {"shelves": names, "longest": max(names)}"""
ADD = "import shelf\nfound = shelf.slow(ms=20)\nresult = shelf.create_item(itemName=%r)"
PAGES = ("", "runs", "servers", "functions?q=item", "policy", "use", "audit?verify=1", "set-up")
WIDTHS = (360, 1280)
SHOWN = {
    "inbox-360", "inbox-1280", "approval-360", "approval-360-dark", "approval-1280", "runs-1280", "run-360", "run-1280",
    "run-1280-dark", "policy-1280", "use-1280", "function-1280",
}  # fmt: skip
"""Pictures that the documentation keeps."""
AXE = Path(os.environ.get("DOORWARD_AXE", CACHE / "axe/node_modules/axe-core/axe.min.js"))


class Person(Browser):
    """Somebody at a browser."""

    def resize(self, width: int, *, dark: bool = False) -> None:
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=800, deviceScaleFactor=1, mobile=width < 600)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.ask("Emulation.setEmulatedMedia", features=[scheme])

    def scripts(self, *, run: bool) -> None:
        self.ask("Emulation.setScriptExecutionDisabled", value=not run)

    def visit(self, url: str) -> None:
        self.ask("Page.navigate", url=url)
        until(lambda: "</main>" in self.html())

    def html(self) -> str:
        """The page as it is now, also where scripts do not run."""
        root = self.ask("DOM.getDocument", depth=0).get("root", {}).get("nodeId", 0)
        return str(self.ask("DOM.getOuterHTML", nodeId=root).get("outerHTML", ""))

    def text(self) -> str:
        """What is shown on it."""
        return html.unescape(re.sub(r"<[^>]*>", "", self.html()))

    def sees(self, url: str, text: str) -> bool:
        """Whether a page has a text when it is loaded."""
        self.visit(url)
        return text in self.text()

    def press(self, selector: str) -> None:
        """A click of the mouse at the middle of something."""
        root = self.ask("DOM.getDocument", depth=0)["root"]["nodeId"]
        node = self.ask("DOM.querySelector", nodeId=root, selector=selector)["nodeId"]
        self.ask("DOM.scrollIntoViewIfNeeded", nodeId=node)
        corners = self.ask("DOM.getBoxModel", nodeId=node)["model"]["border"]
        at = {"x": (corners[0] + corners[4]) / 2, "y": (corners[1] + corners[5]) / 2}
        for kind in ("mousePressed", "mouseReleased"):
            self.ask("Input.dispatchMouseEvent", type=kind, button="left", clickCount=1, **at)

    def violations(self, axe: str) -> list[str]:
        """What axe finds on the page: the rule and where."""
        self.ask("Runtime.evaluate", expression=axe)
        script = "axe.run().then(found => found.violations.flatMap(v => v.nodes.map(n => `${v.id}: ${n.html.slice(0, 150)}`)))"
        answer = self.ask("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        return list(answer["result"]["value"])

    def picture(self, file: Path) -> None:
        height = min(4000, int(self.value("document.documentElement.scrollHeight") or 800))
        width = int(self.value("innerWidth"))
        clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
        kind = {"format": "webp", "quality": 70} if file.suffix == ".webp" else {"format": "png"}
        found = self.ask("Page.captureScreenshot", captureBeyondViewport=True, clip=clip, **kind)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(base64.b64decode(found["data"]))


@pytest.fixture(scope="module")
def served(api: Api, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Project, str]]:
    program("chromium")
    project = Project(tmp_path_factory.mktemp("console"), LIMITS + RULE + SHELF.format(url=api.url))
    with project.http("--console") as (url, _):
        until(lambda: "works once" in project.said())
        yield project, url


@pytest.fixture(scope="module")
def person(served: tuple[Project, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Person]:
    """The operator, who has used the link."""
    browser = Person(str(tmp_path_factory.mktemp("browser")))
    try:
        browser.resize(1280)
        found = re.search(r"works once: (\S+)", served[0].said())
        assert found is not None
        browser.visit(found[1])
        browser.press("button.yes")
        until(lambda: "Sign out" in browser.text())
        yield browser
    finally:
        browser.end()


@pytest.fixture
async def done(served: tuple[Project, str]) -> AsyncIterator[str]:
    """The address of the console, when agents have done something, and one waits."""
    url = served[1]
    async with connected(url) as agent:
        await agent.call("execute_code", code=READS, description="Look at every shelf")
        await agent.call("execute_code", code="import shelf\nrows = [1, 2]\nrows[5]", description="Count the rows")
        await agent.call("execute_code", code=f"result = {HOSTILE!r}", description=HOSTILE)
        waiting = asyncio.ensure_future(
            agent.call(
                "execute_code", code=ADD % "Brass lamp", description="Add the lamp that Ann ordered to the shelf"
            )
        )
        root = url.removesuffix("/mcp") + "/console"
        yield root
        waiting.cancel()


@pytest.mark.parametrize("width", WIDTHS)
async def test_each_page_fits(done: str, person: Person, width: int) -> None:
    """No page is wider than its window, says something else than what it should, or breaks the policy of its contents.
    DOORWARD_SCREENSHOTS names a folder for what it looks like; the pictures in docs/pictures/console are the `.webp`
    files of it."""
    folder, axe = os.environ.get("DOORWARD_SCREENSHOTS"), AXE.read_text(encoding="utf-8") if AXE.is_file() else ""
    found: dict[str, list[str]] = {}

    def look() -> None:
        person.resize(width)
        until(lambda: person.sees(done, "shelf.create_item"))
        inside = "[...document.querySelectorAll('main a')].map(each => each.pathname).find(each => each.match(/%s/))"
        approval = person.value(inside % "approvals.[0-9a-f]+$")
        person.visit(f"{done}/runs?text=every")
        run = person.value(inside % "runs.[0-9a-f]+$")
        root = done.removesuffix("/console")
        paths = {page.partition("?")[0] or "inbox": f"{done}/{page}".rstrip("/") for page in PAGES}
        paths |= {"approval": root + approval, "run": root + run, "function": f"{done}/functions/shelf.create_item"}
        call = "policy?function=shelf.create_item&arguments=%7B%22itemName%22%3A%22x%22%7D"
        paths |= {"policy": f"{done}/{call}"}
        for name, path in paths.items():
            person.visit(path)
            wide = person.value("document.documentElement.scrollWidth")
            assert wide <= width, f"{name} is {wide} wide"
            assert "That did not work" not in person.text(), name
            assert person.value("document.title") != "taken"
            assert not person.value("document.querySelectorAll('main [style], main style, main script').length")
            if axe:
                found[f"{name}, {width}"] = person.violations(axe)
            if folder:
                for dark in (False, True):
                    person.resize(width, dark=dark)
                    picture = f"{name}-{width}{'-dark' * dark}"
                    person.picture(Path(folder) / f"{picture}.png")
                    if picture in SHOWN:
                        person.picture(Path(folder) / f"{picture}.webp")
                person.resize(width)

    await anyio.to_thread.run_sync(look)
    assert not {name: violations for name, violations in found.items() if violations}


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
async def test_a_yes_from_a_phone(served: tuple[Project, str], person: Person, scripts: bool) -> None:
    """An agent waits at a write; a person opens the link of the request on a phone, reads all arguments and says yes: the
    agent gets its answer. CONTRACT: OBS-04."""
    root, name = served[1].removesuffix("/mcp") + "/console", f"Lamp {scripts}"

    def answer() -> None:
        person.resize(360)
        person.scripts(run=scripts)
        try:
            until(lambda: person.sees(root, name))
            card = re.search(rf'href="([^"]+)">(?:(?!</a>).)*{name}', person.html(), re.DOTALL)
            assert card is not None
            person.press(f'a.card[href="{card[1]}"]')
            until(lambda: "From the shop" in person.text())
            assert f'"itemName": "{name}"' in person.text()
            person.press("button.yes")
            until(lambda: "You said yes" in person.text())
        finally:
            person.scripts(run=True)

    async with connected(served[1]) as agent:
        answering = asyncio.ensure_future(anyio.to_thread.run_sync(answer))
        outcome = await agent.call("execute_code", code=ADD % name, description=f"Add what {name} is, From the shop")
        await answering
    assert name in json.dumps(outcome)


async def test_lists_are_live(served: tuple[Project, str], person: Person) -> None:
    """What happens while a page is looked at appears on it, without its being loaded again."""
    root = served[1].removesuffix("/mcp") + "/console"
    person.resize(1280)
    await anyio.to_thread.run_sync(partial(person.visit, f"{root}/runs"))
    person.value("window.marked = true")
    async with connected(served[1]) as agent:
        await agent.call("execute_code", code="result = 41 + 1", description="Appears by itself")
    seen = await anyio.to_thread.run_sync(lambda: until(lambda: "Appears by itself" in person.text()))
    assert seen
    assert person.value("window.marked")
