"""Programs and agents that try to get past rules, by every way to name a function, to make a call, and to write an
argument: the bank counts what it is asked."""

from __future__ import annotations

import contextlib
import importlib.util
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from mcp import MCPError

from .evasion import Bank, banking
from .product import Agent, Project, apart, connected, web

pytestmark = pytest.mark.anyio
ERAS = ("auto", "legacy")
needs_deno = pytest.mark.skipif(importlib.util.find_spec("deno") is None, reason="`pip install deno` brings it")

EXPOSED = '[servers.bank]\nsource = "openapi"\n'


@pytest.fixture(scope="module")
def bank() -> Iterator[str]:
    with web(Bank) as url:
        yield url


@pytest.fixture(scope="module")
def project(bank: str, tmp_path_factory: pytest.TempPathFactory) -> Project:
    made = banking(tmp_path_factory.mktemp("bank"), bank, servers=("bank", "savings"))
    made.change('executor = "monty"', 'executor = ["monty", "deno"]')
    made.change(EXPOSED, EXPOSED + 'expose = ["deleteAccount", "closeAccount", "getAccount", "makePayment"]\n')
    assert made.run("compile").returncode == 0
    return made


@pytest.fixture(scope="module")
def url(project: Project) -> Iterator[str]:
    with project.http() as (url, _):
        yield url


@pytest.fixture(scope="module", params=ERAS)
async def agent(request: Any, anyio_backend: str, url: str) -> AsyncIterator[Agent]:
    async with apart(connected(url, request.param)) as agent:
        yield agent


@pytest.fixture(scope="module", params=ERAS)
async def calling(
    request: Any, anyio_backend: str, bank: str, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Agent]:
    """A client of the same bank that makes calls without programs."""
    made = banking(tmp_path_factory.mktemp("calls"), bank)
    made.change(first='surface = "calls"\n')
    async with apart(made.stdio(request.param)) as agent:
        yield agent


# Names

DENIED = {
    "bank.delete_account": ("deleteAccount", "DELETE /accounts/{id}", "{'id': '5'}", "accounts stay"),
    "bank.close_account": ("closeAccount", "POST /accounts/{id}/close", "{'id': '5'}", "nobody closes"),
    "bank.get_account": ("getAccount", "GET /accounts/{id}", "{'id': 101}", "only the first hundred"),
    "bank.make_payment": ("makePayment", "POST /payments", "{'amount': 5000.5}", "too much"),
}
"""Functions with arguments that may not be sent, by their names: original id and route, arguments, reason."""

PROGRAMS = [
    "import {server}; {server}.{name}(**{args})",
    "import {server} as x; f = x.{name}; f(**{args})",
    "from {server} import {name}; {name}(**{args})",
    "from {server} import {name} as harmless; harmless(**{args})",
    "import {server}; getattr({server}, '{name}')(**{args})",
    "import {server}; {server}.{id}(**{args})",
    "import {server}; {server}.{name}(*{args}.values())",
    "import asyncio, {server}; await asyncio.gather(*[{server}.{name}(**{args}) for n in range(3)])",
    "import doorward; doorward.call('{server}.{name}', {args})",
    "import doorward; doorward.call('{server}.{id}', {args})",
    "import doorward; doorward.call('{server}.{route}', {args})",
    "import doorward; doorward.call('mcp__{server}__{name}', {args})",
    "import doorward; doorward.call('mcp__{server}__{id}', **{args})",
    "import doorward; doorward.call('{SERVER}.{name}', {args})",
    "import doorward; doorward.call(' {server}.{name}', {args})",
    "import doorward; doorward.call('{server}.{name}\\n', {args})",
    "import doorward; doorward.call('{server}.{name}\\x00', {args})",
    "import doorward; doorward.call('{server}\u200b.{name}', {args})",
    "import doorward; doorward.call('{server}.{wide}', {args})",
    "import doorward; doorward.call('{server}..{name}', {args})",
    "import doorward; doorward.call('{server}.{server}.{name}', {args})",
    "import doorward; doorward.call('doorward.{server}.{name}', {args})",
    "import doorward; doorward.call('doorward.call', function='{server}.{name}', arguments={args})",
    "import doorward; doorward.reply('{server}.{name}', **{args})",
    "import doorward; list(doorward.pages('{server}.{name}', **{args}))",
    "import doorward; list(doorward.items('{server}.{name}', **{args}))",
    "mcp__{server}__{name}(**{args})",
    "call_tool('{server}_{name}', {args})",
    "call_tool('{server}.{name}', {args})",
    "import servers; servers.{server}.{name}(**{args})",
    "from servers.{server} import {name}; {name}(**{args})",
    "from tools import {server}; {server}.{name}(**{args})",
    "{server}.{name}(**{args})",
    "{name}(**{args})",
    "tools.{server}.{name}(**{args})",
]
"""Ways of a program to make a call, ours and those of other systems."""


def filled(way: str, function: str) -> str:
    id, route, args, _ = DENIED[function]
    server, _, name = function.partition(".")
    wide = "".join(chr(ord(letter) + 0xFEE0) for letter in name)
    known = {"server": server, "SERVER": server.upper(), "name": name, "id": id, "route": route, "args": args}
    for word, text in {**known, "wide": wide}.items():
        way = way.replace(f"{{{word}}}", text)
    return way


@pytest.mark.parametrize("function", DENIED)
async def test_no_name_of_a_function_gets_a_program_past_a_rule(agent: Agent, function: str) -> None:
    """Each import, each spelling, each generic call; and however a program narrows what it may call."""
    before = len(Bank.ledger)
    id, route, _, reason = DENIED[function]
    server, _, name = function.partition(".")
    told = 0
    for way in PROGRAMS:
        for narrowed in (None, [function], [f"{server}.{id}"], ["*"], [f"mcp__{server}__{name}"], [route]):
            answer = await agent.run(filled(way, function), **({"functions": narrowed} if narrowed else {}))
            assert not answer["ok"], (way, narrowed, answer)
            told += reason in str(answer["error"])
            if way is not PROGRAMS[0] and way is not PROGRAMS[9]:
                break
    assert told >= 8, "most of these ways are ways to make the call"
    assert Bank.ledger[before:] == []


@pytest.mark.parametrize("function", DENIED)
async def test_neither_a_session_nor_a_kept_program_gets_past_a_rule(agent: Agent, function: str) -> None:
    """What a session remembers, and what ran with other values, is called like anything else."""
    _, _, args, reason = DENIED[function]
    server, _, name = function.partition(".")
    first = await agent.run(f"import {server}\nf = {server}\n1", session_id="new")
    before = len(Bank.ledger)
    answer = await agent.run(f"f.{name}(**{args})", session_id=first["session_id"])
    assert reason in str(answer["error"]), answer
    assert Bank.ledger[before:] == []
    code = "import doorward\nwhich = 'bank.get_account'\ngiven = {'id': 5}\nresult = doorward.call(which, given)"
    kept = await agent.run(code)
    assert kept["ok"], kept
    before = len(Bank.ledger)
    params = {"which": function, "given": eval(args)}
    answer = await agent.call("run_cached_code", cache_id=kept["cache_id"], params=params)
    assert reason in str(answer["error"]), answer
    answer = await agent.run(code, params=params)
    assert reason in str(answer["error"]), answer
    assert Bank.ledger[before:] == []


@pytest.mark.parametrize("function", DENIED)
async def test_no_tool_gets_past_a_rule(agent: Agent, calling: Agent, function: str) -> None:
    """The tool of a function, and the tool that calls any: by each of its names."""
    before = len(Bank.ledger)
    id, route, args, _ = DENIED[function]
    server, _, name = function.partition(".")
    for tool in (f"{server}_{name}", f"{server}_{id}", f"{server}.{name}", f"mcp__{server}__{name}"):
        with contextlib.suppress(MCPError):  # no such tool
            found = await agent.client.call_tool(tool, eval(args))
            assert found.is_error, (tool, found)
    for spelled in (
        function,
        f"{server}.{id}",
        f"{server}.{route}",
        f"mcp__{server}__{id}",
        f"{server.upper()}.{name}",
    ):
        answer = await calling.call("call_function", function=spelled, arguments=eval(args))
        assert not answer["ok"], answer
    assert Bank.ledger[before:] == []


async def test_what_is_denied_is_told_by_no_other_way(agent: Agent) -> None:
    """By no search, list, card, resource or prompt; a name that is nearly right is not put right."""
    told = [
        str(await agent.call("search_functions", query=words, limit=50)) for words in ("delete account", "close", "")
    ]
    told.append(str(await agent.call("search_functions", query="deleteAccount", explain=True, limit=50)))
    told.append(str(await agent.call("list_servers")))
    told.append((await agent.client.list_tools()).model_dump_json())
    for resource in (await agent.client.list_resources()).resources:
        told.append((await agent.client.read_resource(str(resource.uri))).model_dump_json())
    for prompt in (await agent.client.list_prompts()).prompts:
        told.append((await agent.client.get_prompt(prompt.name)).model_dump_json())
    for almost in ("delete_acount", "deleteAccounts", "close_acount"):
        told.append(str(await agent.run(f"import bank; bank.{almost}(id='5')")).replace(almost, ""))
        told.append(str(await agent.call("get_functions", functions=[f"bank.{almost}"])).replace(almost, ""))
    told.append(str(await agent.run("import bank; print(dir(bank)); print(bank)")))
    told.append(
        str(
            await agent.run(
                "import doorward; print(doorward.search('delete an account')); print(doorward.server('bank'))"
            )
        )
    )
    for text in told:
        for name in ("delete_account", "deleteAccount", "bank.close_account"):
            assert name not in text, text


# Arguments

ARGUMENTS = [
    "get_account(id=101)",
    "get_account(101.0)",
    "get_account(id=1.01e2)",
    "get_account(id=2**70)",
    "get_account(id=-2**70)",
    "get_account(id='101')",
    "get_account(id=[101])",
    "get_account(id={'id': 101})",
    "get_account(id=True)",
    "get_account(id=None)",
    "get_account(id=float('nan'))",
    "get_account(id=b'101')",
    "get_account(**{'id': 5, 'ID': 101})",
    "get_account(5, id=101)",
    "make_payment(amount=10.5)",
    "make_payment(amount=10**25)",
    "make_payment(amount=float('nan'))",
    "make_payment(amount=float('-inf'))",
    "make_payment(amount='5')",
    "make_payment(amount=[5])",
    "make_payment(amount=None)",
    "make_payment()",
    "make_payment(amount=5, amount_=5000)",
    "make_payment(amount=5, Amount=5000)",
    "make_payment(amount=5, body={'amount': 5000})",
    "make_payment(amount=5, details={})",
    "make_payment(amount=5, tags=[])",
    "make_payment({'amount': 5}, amount=5000)",
    "make_payment(amount=5, toAccount='a', to_account='b')",
    "delete_note(name='../accounts/5')",
    "delete_note(name='..%2Faccounts%2F5')",
    "delete_note(name='%2e%2e/accounts/5')",
    "delete_note(name='..')",
    "delete_note(name='.')",
    "delete_note(name='')",
    "delete_note(name='/')",
    "delete_note(name='x/../../accounts/5')",
    "delete_note(name='..;/accounts/5')",
    "delete_note(name='..\\\\accounts\\\\5')",
    "delete_note(name='\uff0e\uff0e/accounts/5')",
    "get_note(name='../accounts/101')",
]
"""Calls whose arguments a rule does not let through, however they are written; none is sent."""


@pytest.mark.parametrize("call", ARGUMENTS)
async def test_no_argument_gets_past_a_condition(agent: Agent, call: str) -> None:
    """Other types, missing and further arguments, and paths that servers may read as another."""
    before = len(Bank.ledger)
    answer = await agent.run(f"import bank; bank.{call}")
    assert not answer["ok"], answer
    assert answer.get("waiting", {}).get("for", "approval") == "approval"
    assert Bank.ledger[before:] == []


SCRIPTS = [
    'import bank from "bank"; await bank.getAccount({id: 101n})',
    'import bank from "bank"; await bank.getAccount(101)',
    'import bank from "bank"; await bank["getAccount"]({id: 101})',
    'import {closeAccount as harmless} from "bank"; await harmless({id: "5"})',
    'import * as d from "doorward"; await d.call("bank.closeAccount", {id: "5"})',
    'import * as d from "doorward"; await d.call("mcp__bank__closeAccount", {id: "5"})',
    'const b = await import("bank"); await b.closeAccount("5")',
    'import bank from "bank"; await bank.getAccount(JSON.parse(\'{"__proto__": {"id": 5}, "id": 101}\'))',
    'import bank from "bank"; await bank.getAccount(Object.create({id: 101}))',
    'import bank from "bank"; await bank.makePayment({amount: {toJSON() { return 5000 }}})',
    'import bank from "bank"; await bank.makePayment({amount: 5, toJSON() { return {amount: 5000} }})',
    'import bank from "bank"; let n = 0; await bank.makePayment({get amount() { return n++ ? 5000 : 5000 }})',
]


@needs_deno
@pytest.mark.parametrize("script", SCRIPTS)
async def test_no_script_gets_past_a_rule(agent: Agent, script: str) -> None:
    """What is JavaScript alone: values that say something else when they are written down, and inherited ones."""
    before = len(Bank.ledger)
    answer = await agent.run(script, language="typescript")
    assert not answer["ok"], answer
    assert Bank.ledger[before:] == []


async def test_what_a_rule_decides_of_is_what_is_sent(agent: Agent) -> None:
    """A small payment goes out as it was decided about, whatever a program does to its values meanwhile."""
    before = len(Bank.ledger)
    code = """
import asyncio, bank
note = {"amount": 5}
async def change():
    note["amount"] = 5000
    note["details"] = {}
await asyncio.gather(bank.make_payment(**note), change())
"""
    assert (await agent.run(code))["ok"]
    ((method, path, body),) = Bank.ledger[before:]
    assert (method, path, body) == ("POST", "/payments", '{"amount":5}')


async def test_a_rule_for_a_server_is_none_for_another(agent: Agent, project: Project) -> None:
    """By name a function is that of its server; by its route it is denied wherever it is."""
    answer = await agent.run("import savings; savings.delete_account(id='5')")
    assert "accounts stay" in str(answer["error"])
    assert (await agent.run("import savings; savings.close_account(id='7')"))["ok"]
