"""Each form of a rule, through a real client of each principal; and `doorward policy test` says of each call what is done
with it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client

from .conftest import LIMITS, SHELF
from .forked import Forked, project
from .product import Agent, Api, Project
from .test_distribution import PLUGINS, install
from .test_http_auth import token as made

__all__ = ["project"]

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

FORMS = """
[groups]
ops = ["ali*"]
[[policy.rules]]
match = "shelf.sta*"
then = "deny"
reason = "a function by wildcards"
[[policy.rules]]
match = ["shelf.getItem", "far.get_item"]
when = "args.id > 100"
then = "deny"
reason = "a list, an original name, and arguments"
[[policy.rules]]
match = "{other}"
class = "read"
principal = "bob"
then = "deny"
reason = "an upstream, by class, for a person"
[[policy.rules]]
match = "{url}#GET /slow"
then = "confirm"
reason = "a route of an upstream"
[[policy.rules]]
match = "/big"
principal = "b?b"
then = "deny"
reason = "a route of any server, for a pattern of people"
[[policy.rules]]
match = "far"
class = ["write", "destructive"]
principal = "@ops"
when = 'name != "far.create_item" || server != "far"'
then = "deny"
reason = "a server, by classes, for a group, by the function's name"
[[policy.rules]]
match = "shelf.headers"
when = 'principal == "bob" && !("ops" in groups)'
then = "confirm"
reason = "a condition on who asks"
[[policy.rules]]
match = "shelf.mark"
when = "calls >= 2"
then = "deny"
reason = "the calls so far"
[[policy.rules]]
match = "shelf.create_item"
then = "allow"
[[policy.rules]]
class = "write"
then = "confirm"
reason = "whatever is left of what writes"
"""

CASES = [
    ("alice", "shelf.status", {"code": 200}, "deny", "a function by wildcards"),
    ("bob", "far.status", {"code": 200}, "deny", "an upstream, by class, for a person"),
    ("alice", "far.status", {"code": 200}, "allow", ""),
    ("alice", "shelf.get_item", {"id": 101}, "deny", "a list, an original name, and arguments"),
    ("alice", "shelf.get_item", {"id": 100}, "allow", ""),
    ("alice", "far.get_item", {"id": 101}, "deny", "a list, an original name, and arguments"),
    ("alice", "shelf.slow", {"ms": 1}, "confirm", "a route of an upstream"),
    ("alice", "far.slow", {"ms": 1}, "allow", ""),
    ("bob", "shelf.big", {"count": 1}, "deny", "a route of any server, for a pattern of people"),
    ("alice", "shelf.big", {"count": 1}, "allow", ""),
    ("alice", "far.delete_item", {"id": 1}, "deny", "a server, by classes, for a group, by the function's name"),
    ("alice", "far.create_item", {"itemName": "a"}, "confirm", "whatever is left of what writes"),
    ("bob", "far.create_item", {"itemName": "a"}, "confirm", "whatever is left of what writes"),
    ("bob", "shelf.headers", {}, "confirm", "a condition on who asks"),
    ("alice", "shelf.headers", {}, "allow", ""),
    ("bob", "shelf.mark", {"name": "forms"}, "allow", ""),
    ("bob", "shelf.create_item", {"itemName": "a"}, "allow", ""),
    ("alice", "shelf.delete_item", {"id": 1}, "allow", ""),
]


@asynccontextmanager
async def client_of(url: str, token: str) -> AsyncIterator[Agent]:
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=100) as http,
        Client(streamable_http_client(url, http_client=http)) as client,
    ):
        yield Agent(client)


@pytest.fixture(scope="module")
def forms(api: Api, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Two servers, of which `far` is at another address, under a rule of each form."""
    far = SHELF.format(url=api.url).replace("[servers.shelf]", "[servers.far]") + f'base_url = "{api.other}"\n'
    rules = FORMS.replace("{url}", api.url).replace("{other}", api.other)
    config = LIMITS + rules + SHELF.format(url=api.url) + far
    return Forked(tmp_path_factory.mktemp("forms"), config)


@pytest.fixture(scope="module")
def served(forms: Project) -> Iterator[tuple[str, dict[str, str]]]:
    """The address, and the token of each principal."""
    tokens = {name: made(forms, name)["token"] for name in ("alice", "bob")}
    with forms.http() as (url, _):
        yield url, tokens


@pytest.mark.parametrize(("who", "function", "arguments", "then", "reason"), CASES)
async def test_a_rule_decides(
    forms: Project,
    served: tuple[str, dict[str, str]],
    who: str,
    function: str,
    arguments: dict[str, Any],
    then: str,
    reason: str,
) -> None:
    """The call is made, refused with the reason, or waits for a person; as `doorward policy test` says."""
    url, tokens = served
    async with client_of(url, tokens[who]) as agent:
        answer = await agent.run(f"import doorward\ndoorward.call({function!r}, {arguments!r})")
    if then == "deny":
        assert answer["error"]["kind"] == "policy", answer
        assert reason in answer["error"]["message"]
    elif then == "confirm":
        assert answer["waiting"]["for"] == "approval", answer
        assert reason in answer["waiting"]["what"][0]
    else:
        assert answer["ok"], answer
    words = ("policy", "test", function, "--principal", who, "--args", json.dumps(arguments), "--json")
    tried = forms.run(*words)
    told = json.loads(tried.stdout)
    assert (told["then"], told["reason"], tried.returncode) == (then, reason, 0 if then == "allow" else 3)


async def test_the_calls_so_far_are_those_of_a_run(forms: Project, served: tuple[str, dict[str, str]]) -> None:
    """The third call of a run is refused, as `policy test --calls 2` says."""
    url, tokens = served
    code = "import shelf\nfor n in range(3):\n    print(n)\n    shelf.mark(name='forms')"
    async with client_of(url, tokens["bob"]) as agent:
        answer = await agent.run(code)
    assert (answer["printed"], "the calls so far" in answer["error"]["message"]) == ("0\n1\n2\n", True)
    tried = forms.run("policy", "test", "shelf.mark", "--principal", "bob", "--calls", "2")
    assert (tried.returncode, tried.stdout.split(":")[0]) == (3, "deny")


async def test_what_is_denied_to_one_is_there_for_another(served: tuple[str, dict[str, str]]) -> None:
    """Found, listed, shown, a resource, and importable for alice; nothing of it for bob, who is told why by its
    name."""
    url, tokens = served
    there = {}
    for who, token in tokens.items():
        async with client_of(url, token) as agent:
            found = await agent.call("search_functions", query="large answer", server="shelf")
            (card,) = (await agent.call("get_functions", functions=["shelf.big"]))["functions"]
            imported = await agent.run("from shelf import big")
            found_inside = await agent.value("import doorward\nstr(doorward.search('large answer'))")
            try:
                shown = (await agent.client.read_resource("doorward://functions/shelf/big")).contents[0].text
            except Exception as error:
                shown = f"error: {error}"
            there[who] = (
                "shelf.big" in [each["function"] for each in found["functions"]],
                "text" in card,
                imported["ok"],
                "shelf.big" in found_inside,
                "def big" in shown,
            )
            assert who == "alice" or "for a pattern of people" in card["error"]
    assert there == {"alice": (True,) * 5, "bob": (False,) * 5}


async def test_a_card_says_that_a_person_is_asked(served: tuple[str, dict[str, str]]) -> None:
    """Always, or depending on the arguments; to whom it concerns."""
    url, tokens = served
    functions = ["far.create_item", "shelf.headers"]
    async with client_of(url, tokens["bob"]) as agent:
        always, perhaps = (await agent.call("get_functions", functions=functions))["functions"]
    assert "# A call asks a person first: whatever is left of what writes." in always["text"]
    assert "# A call may ask a person first, depending on its arguments: a condition on who asks." in perhaps["text"]


@pytest.mark.parametrize("default", ["deny", "confirm"])
async def test_the_default_decides_what_no_rule_fits(project: Project, default: str) -> None:
    """What a rule allows is there; all else is not, or waits and says so on its card."""
    rule = f'[policy]\ndefault = "{default}"\n[[policy.rules]]\nmatch = "shelf.get_item"\nthen = "allow"\n'
    project.change(last=rule)
    async with project.stdio() as agent:
        assert await agent.value("import shelf\nshelf.get_item(id=3)['id']") == 3
        (card,) = (await agent.call("get_functions", functions=["shelf.big"]))["functions"]
        answer = await agent.run("import doorward\ndoorward.call('shelf.big', count=1)")
        if default == "deny":
            assert "[policy] default" in card["error"]
            assert answer["error"]["kind"] == "policy"
            assert (await agent.call("list_servers"))["servers"][0]["first"] == ["get_item"]
        else:
            assert "# A call asks a person first." in card["text"]
            assert answer["waiting"]["for"] == "approval"


async def test_a_function_that_was_added_waits_to_be_accepted(api: Api, tmp_path: Path) -> None:
    """Added while it is served: denied until `doorward policy accept`, which needs no restart."""
    document = api.get("/openapi.json")
    added = document["paths"].pop("/big")
    (tmp_path / "shelf.json").write_text(json.dumps(document))
    server = f'[servers.shelf]\nsource = "openapi"\nspec = "shelf.json"\nbase_url = "{api.url}"\n'
    project = Forked(tmp_path, f'{LIMITS}[policy]\nnew = "deny"\n{server}')
    warned = json.loads(project.run("doctor", "--json").stdout)["checks"]
    assert "[policy] new does nothing" in [each["check"] for each in warned]
    assert project.run("policy", "accept").returncode == 0
    async with project.stdio() as agent:
        (tmp_path / "shelf.json").write_text(json.dumps({**document, "paths": {**document["paths"], "/big": added}}))
        assert project.run("compile").returncode == 0
        refused = await agent.run("import doorward\ndoorward.call('shelf.big', count=1)")
        assert "[policy] new: it is not among the functions that the operator has accepted" in str(refused["error"])
        (first, *_) = (await agent.call("list_servers"))["servers"]
        assert "big" not in first["first"]
        accepted = project.run("policy", "accept")
        assert accepted.stdout == "shelf.big\n"
        assert await agent.value("import shelf\nlen(shelf.big(count=1))") == 1


async def test_only_upstreams_that_are_named_are_called(api: Api, project: Project) -> None:
    """CONTRACT: SEC-04. With `allow = ["https://…"]` calls go to these origins and to no other, whatever a server is
    called and whoever redirects."""
    far = SHELF.format(url=api.url).replace("[servers.shelf]", "[servers.far]") + f'base_url = "{api.other}"\n'
    project.change(last=far + f'[policy]\nallow = ["{api.url}"]\n')
    async with project.stdio() as agent:
        assert await agent.value("import shelf\nshelf.get_item(id=3)['id']") == 3
        before = len(api.seen())
        for code in (
            "import far\nfar.get_item(id=3)",
            "import doorward\ndoorward.call('far.getItem', id=3)",
            "import shelf\nshelf.away(code=307)",
        ):
            assert not (await agent.run(code))["ok"], code
        assert {each["origin"] for each in api.seen()[before:]} == {0}, "the first of the two"


MANIFEST = """
allow-extra = [{plugins}]
[policy]
default = "allow"
[[policy.rules]]
match = "GET /big"
then = "confirm"
reason = "acme wants to know"
[[policy.rules]]
match = "GET /slow"
then = "deny"
reason = "acme is in a hurry"
"""


async def test_a_distributions_rules_stand_beside_the_users(api: Api, tmp_path: Path) -> None:
    """A user's rules loosen none of them, and tighten them."""
    plugins = ", ".join(f'"doorward-{name}"' for name in [*PLUGINS, "policy-rules", "store-sqlite", "text"])
    install(tmp_path / "site", "acme", MANIFEST.format(plugins=plugins))
    rules = """
[[policy.rules]]
match = "shelf.get_item"
then = "deny"
reason = "my own"
[[policy.rules]]
match = "shelf"
then = "allow"
"""
    project = Forked(tmp_path, LIMITS + rules + SHELF.format(url=api.url), {"PYTHONPATH": str(tmp_path / "site")})
    async with project.stdio() as agent:
        assert "acme wants to know" in (await agent.run("import shelf\nshelf.big(count=1)"))["waiting"]["what"][0]
        assert "acme is in a hurry" in str((await agent.run("import shelf\nshelf.slow(ms=1)"))["error"])
        assert "my own" in str((await agent.run("import shelf\nshelf.get_item(id=1)"))["error"])
        assert await agent.value("import shelf\nshelf.status(code=200)") is not None
    told = json.loads(project.run("policy", "test", "shelf.slow", "--json").stdout)
    assert told["rule"] == "[[policy.rules]] 2 of acme-distro 1.2"


CEDAR = """
permit(principal, action, resource);
@id("calm") @reason("Cedar says no") forbid(principal, action, resource == Function::"shelf.big");
@id("ask") @then("confirm") @reason("Cedar asks") forbid(principal, action, resource == Function::"shelf.slow");
"""


async def test_a_plugin_tightens_what_rules_say(api: Api, project: Project) -> None:
    """What its policies permit has still to pass the rules."""
    pytest.importorskip("cedarpy")
    (project.folder / "policies.cedar").write_text(CEDAR)
    rules = """
[[policy.rules]]
match = "shelf.get_item"
then = "deny"
reason = "a rule says no"
[[policy.rules]]
match = "shelf"
then = "allow"
"""
    project.change(
        '"audit_jsonl"]', '"audit_jsonl", "cedar"]', last=f"{rules}[hooks.cedar]\npolicies = 'policies.cedar'\n"
    )
    async with project.stdio() as agent:
        assert "Cedar says no" in str((await agent.run("import shelf\nshelf.big(count=1)"))["error"])
        assert "Cedar asks" in (await agent.run("import shelf\nshelf.slow(ms=1)"))["waiting"]["what"][0]
        assert "a rule says no" in str((await agent.run("import shelf\nshelf.get_item(id=1)"))["error"])
        assert (await agent.run("import shelf\nshelf.list_items(page=1)"))["ok"]
