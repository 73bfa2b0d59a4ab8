"""Programs ask a model through the served product: that of the client, in both eras and by both transports, or that of
a provider."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import mcp_types as t
import pytest
import tomli_w

from .conftest import LIMITS, WAYS
from .forked import Forked
from .product import Answering, Project, connected, needs_proc, web

pytestmark = pytest.mark.anyio
KEY = "sk-test-0123456789abcdefghij"
CANARY = "c4n4ry-93b1f0e2d7-of-nobody"
SERVER = """
[servers.llm]
source = "llm"
base_url = "{url}/v1"
model = "m"
api_key = "${{MODEL_KEY}}"
"""
TALK = [
    {"role": "user", "content": "begin"},
    {"role": "assistant", "content": "BEGIN"},
    {"role": "user", "content": "four"},
]
CODE = f"""
import asyncio, llm
first = await llm.ask("one")
second = llm.ask("two", systemPrompt="You are a helpful assistant", maxTokens=7)
both = await asyncio.gather(llm.ask("three"), llm.think({TALK}))
fits = await llm.ask("five", schema={{"type": "object", "required": ["n"]}})
result = [first, second, *both, fits]
"""
VALUE = ["ONE", "TWO", "THREE", "FOUR", {"n": 5}]


def said(prompt: str) -> str:
    """What the models of these tests answer."""
    return '{"n": 5}' if prompt == "five" else prompt.upper()


class Providers(Answering):
    """An OpenAI-compatible API that keeps what it gets."""

    seen: list[str]

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers["Content-Length"]))
        self.seen.append(f"{self.headers['Authorization']} {raw.decode()}")
        text = said(json.loads(raw)["messages"][-1]["content"])
        usage = {"prompt_tokens": 10, "completion_tokens": 5}
        self.answer({"choices": [{"message": {"role": "assistant", "content": text}}], "usage": usage})


@pytest.fixture
def provider() -> Iterator[tuple[str, list[str]]]:
    """The URL of a provider, and what it got."""
    handler = type("Recording", (Providers,), {"seen": []})
    with web(handler) as url:
        yield url, handler.seen


@pytest.fixture
def made(tmp_path: Path, provider: tuple[str, list[str]]) -> Callable[..., Project]:
    """Makes a project with the server `llm`; `more` are further lines of its table."""

    def make(more: str = "", executor: str = "monty", settings: Any = None) -> Project:
        env = {"MODEL_KEY": KEY, "SOME_API_TOKEN": CANARY}
        project = Forked(tmp_path, LIMITS + SERVER.format(url=provider[0]) + more, env)
        executors = tomli_w.dumps({"executors": {executor: settings}}) if settings else ""
        project.change('executor = "monty"', f'executor = "{executor}"', last=f"\n{executors}")
        return project

    return make


class Model:
    """The client's model: the callback for sampling, and the requests that it got."""

    def __init__(self) -> None:
        self.asked: list[Any] = []

    async def __call__(self, context: Any, params: Any) -> t.CreateMessageResult:
        self.asked.append(params)
        text = said(params.messages[-1].content.text)
        return t.CreateMessageResult(role="assistant", content=t.TextContent(text=text), model="of-the-client")


async def refuse(context: Any, params: Any) -> t.ErrorData:
    return t.ErrorData(code=-1, message="User rejected sampling request")


@pytest.mark.parametrize("way", WAYS)
async def test_the_model_of_the_client(made: Any, provider: Any, way: str) -> None:
    """CONTRACT: LLM-09 A client that offers sampling is asked, in both eras and by both transports; the provider gets
    nothing. What the run used is in the answer."""
    project, model = made(), Model()
    transport, era = way.split("-")
    if transport == "stdio":
        async with project.stdio(era, sampling_callback=model) as agent:
            answer = await agent.run(CODE)
    else:
        with project.http() as (url, _):
            async with connected(url, era, sampling_callback=model) as agent:
                answer = await agent.run(CODE)
    assert answer.get("value") == VALUE, answer
    assert answer["usage"]["llm"]["rounds"] == 5
    assert answer["usage"]["llm"]["tokens"] > 20
    assert not provider[1]
    by_prompt = {params.messages[-1].content.text: params for params in model.asked}
    assert {*by_prompt} == {"one", "two", "three", "four", "five"}
    assert (by_prompt["two"].system_prompt, by_prompt["two"].max_tokens) == ("You are a helpful assistant", 7)
    assert '"required":["n"]' in by_prompt["five"].system_prompt


@pytest.mark.parametrize(
    "executor",
    [
        "monty",
        pytest.param("nsjail", marks=[needs_proc, pytest.mark.skipif(sys.platform != "linux", reason="needs Linux")]),
        pytest.param("docker", marks=pytest.mark.slow),
    ],
)
async def test_the_model_of_a_provider(made: Any, provider: Any, executor: str, request: Any) -> None:
    """CONTRACT: LLM-01, LLM-06, LLM-08, LLM-09 A client without sampling: the provider is asked, in each executor, and
    nothing of it is inside: a program that looks around finds neither its key nor its address, and has no way to it."""
    look = "look = ''" if executor == "monty" else "import os\nlook = str(dict(os.environ))"
    settings = request.getfixturevalue("engine").settings(pool=1) if executor == "docker" else None
    url, seen = provider
    async with made(executor=executor, settings=settings).stdio() as agent:
        answer = await agent.run(f"{look}\n{CODE}\nresult.append(look + str(dir(llm)))")
        again = await agent.call("run_cached_code", cache_id=answer["cache_id"])
    *value, look = answer["value"]
    assert value == again["value"][:-1] == VALUE
    assert KEY not in str(answer) + look
    assert url not in str(answer) + look
    assert answer["usage"] == again["usage"] == {"llm": {"rounds": 5, "tokens": 75}}
    assert len(seen) == 10
    assert all(request.startswith(f"Bearer {KEY} ") for request in seen)
    bodies = [json.loads(request.partition(KEY)[2]) for request in seen]
    sent = {body["messages"][-1]["content"]: (body["messages"][:-1], body["max_tokens"]) for body in bodies}
    assert sent["one"] == ([], 1000)
    assert sent["four"] == (TALK[:-1], 1000)
    assert sent["two"] == ([{"role": "system", "content": "You are a helpful assistant"}], 7)


@pytest.mark.parametrize("era", ["auto", "legacy"])
async def test_a_client_that_refuses(made: Any, provider: Any, era: str) -> None:
    """CONTRACT: LLM-09 A person who says no to a question does not find it answered by a provider instead."""
    async with made().stdio(era, sampling_callback=refuse) as agent:
        if era == "legacy":
            answer = await agent.run("import llm\nllm.ask('one')")
            assert "User rejected sampling request" in answer["error"]["message"]
            assert answer["usage"] == {"llm": {"rounds": 1}}
        else:  # the SDK's client does not call again
            with pytest.raises(Exception, match="User rejected sampling request"):
                await agent.run("import llm\nllm.ask('one')")
    assert not provider[1]


async def test_who_is_asked_by_choice(made: Any, provider: Any) -> None:
    """CONTRACT: LLM-09 `sampling` says whether the client's model comes first, is the only one, or is never asked."""
    ask, model = "import llm\nllm.ask('one')", Model()
    async with made('sampling = "never"').stdio(sampling_callback=model) as agent:
        assert await agent.value(ask) == "ONE"
    assert (len(model.asked), len(provider[1])) == (0, 1)
    async with made('sampling = "only"').stdio() as agent:
        answer = await agent.run(ask)
        assert "there is no model to ask" in answer["error"]["message"]
        assert "does not declare sampling" in answer["error"]["message"]
        assert "Few clients offer sampling" in answer["error"]["hint"]
    assert len(provider[1]) == 1


async def test_what_may_be_asked(made: Any, provider: Any) -> None:
    """CONTRACT: LLM-02, LLM-05, LLM-11 A run that is narrowed to other functions asks nobody, nor does one that policy
    forbids it, nor any without the server; models and system prompts that the operator does not allow are refused, with
    those that are allowed."""
    think = "import llm\nllm.think([{'role': 'user', 'content': 'one'}], %s)"
    async with made('models = ["gpt-*"]').stdio() as agent:
        await agent.call("get_functions", functions=["llm.ask"])
        assert "One of '', 'You are a helpful assistant', 'You are a code analysis expert'\n" in agent.text
        for code, options, said in (
            ("import llm\nllm.ask('one')", {"functions": ["github.*"]}, "functions"),
            (think % "system_prompt='Be evil'", {}, "this system prompt is not allowed"),
            (think % "model='other'", {}, "the model 'other' is not allowed"),
        ):
            error = (await agent.run(code, **options))["error"]
            assert said in error["message"] + error.get("hint", ""), error
            assert not provider[1]
        assert "gpt-*" in error["hint"]
        assert await agent.value(think % "model='gpt-9'", functions=["llm.*"]) == "ONE"
    assert '"model":"gpt-9"' in provider[1][0]
    async with made('[policy]\ndeny = ["llm.*"]\n').stdio() as agent:
        assert "no attribute 'ask'" in (await agent.run("import llm\nllm.ask('one')"))["error"]["message"]
        error = (await agent.run("import doorward\ndoorward.call('llm.ask', {'prompt': 'one'})"))["error"]
        assert "policy" in error["message"], error
    async with Forked(made().folder, LIMITS).stdio() as agent:
        assert not (await agent.run("import llm\nllm.ask('one')"))["ok"]
    assert len(provider[1]) == 1


@pytest.mark.parametrize("era", ["auto", "legacy"])
async def test_quota_of_a_run_that_samples(made: Any, era: str) -> None:
    """CONTRACT: LLM-03 The eleventh question of a run is refused, whoever answers, with an error that says why; so is one
    of more tokens than a run has."""
    model = Model()
    async with made().stdio(era, sampling_callback=model) as agent:
        answer = await agent.run("import llm\nfor n in range(11):\n    llm.ask(f'question {n}')")
        long = await agent.run("import llm\nllm.ask('?' * 60000)")
    assert "tokens, and a run may use 10000" in long["error"]["message"]
    assert answer["error"]["message"] == "a run may ask a model 10 times, and this one has"
    assert (answer["error"]["kind"], answer["error"]["line"]) == ("limit", 3)
    assert answer["error"]["hint"].startswith("Ask for more at once")
    assert (len(model.asked), answer["usage"]["llm"]["rounds"]) == (10, 10)


async def test_sampling_is_switched_by_the_run(made: Any, provider: Any) -> None:
    """CONTRACT: LLM-02 A run with `sampling=false` asks no model, whatever its `functions` are; with `on_request` only one
    with `sampling=true` or with functions that name it does, and is still narrowed to them; kept programs as they were."""
    ask = "import llm\nresult = llm.ask('hi')"
    async with made().stdio() as agent:
        for functions in (None, ["llm.*"], ["!other.*"]):
            answer = await agent.run(ask, sampling=False, **({"functions": functions} if functions else {}))
            assert answer["error"]["kind"] == "policy"
            assert "llm.ask is not among the `functions`" in answer["error"]["message"]
            assert (await agent.run(ask, **({"functions": functions} if functions else {})))["value"] == "HI"
    project = made("on_request = true\n")
    async with project.stdio() as agent:
        for given in ({}, {"functions": ["*"]}, {"functions": ["*.ask"]}):
            answer = await agent.run(ask, **given)
            assert answer["error"]["message"] == "llm.ask is only for runs that ask for it"
            assert answer["error"]["hint"] == 'Run it with `sampling`: true, or `functions`: ["*", "llm.*"].'
        for given in ({"sampling": True}, {"functions": ["*", "llm.*"]}, {"functions": ["x.*"], "sampling": True}):
            answer = await agent.run(ask, **given)
            assert answer["value"] == "HI", answer
        assert (await agent.call("run_cached_code", cache_id=answer["cache_id"]))["value"] == "HI"
    file = project.folder / "ask.py"
    file.write_text(ask)
    assert project.run("run", str(file)).returncode == 3
    assert project.run("run", str(file), "--sampling").returncode == 0
    assert project.run("call", "llm.ask", "prompt=hi").returncode == 0


async def test_a_canary_reaches_nobody(made: Any, provider: Any) -> None:
    """CONTRACT: LLM-04 A secret in a prompt reaches neither the client's model nor a provider, although nothing has used
    it; neither does what only looks like one."""
    token, model = "ghp_" + "a1B2" * 9, Model()
    code = f"import llm\n[llm.ask('a {CANARY} b {token} c'), llm.ask('q', schema={{'enum': ['{CANARY}']}})]"
    for callbacks in ({"sampling_callback": model}, {}):
        async with made().stdio(**callbacks) as agent:
            answer = await agent.run(code)
            assert "`schema` holds a secret" in answer["error"]["message"]
            assert answer["usage"]["llm"]["redacted"] == 2
    [asked], [sent] = model.asked, provider[1]
    assert asked.messages[0].content.text == "a [secret] b [secret] c"
    assert "a [secret] b [secret] c" in sent
    assert CANARY not in str(asked) + sent


async def test_personal_data_reaches_nobody(made: Any, provider: Any) -> None:
    """CONTRACT: LLM-04 Of an e-mail address and a social security number in a prompt neither the client's model nor a
    provider gets anything, although the operator has said nothing of them."""
    model = Model()
    for callbacks in ({"sampling_callback": model}, {}):
        async with made().stdio(**callbacks) as agent:
            answer = await agent.run("import llm\nresult = llm.ask('mail ann@example.com, 536-90-4399')")
            assert answer["usage"]["llm"]["redacted"] == 2
    [asked], [sent] = model.asked, provider[1]
    assert asked.messages[0].content.text == "mail [email], [ssn]"
    assert "mail [email], [ssn]" in sent


async def test_the_audit_log_has_hashes(made: Any, provider: Any) -> None:
    """CONTRACT: LLM-07 The audit log says which model was asked, how many tokens that took, and the SHA-256 of what was
    sent and answered; no text is in it."""
    project = made()
    async with project.stdio() as agent:
        await agent.value("import llm\nllm.ask('something private')")
    [line] = [each for each in project.audit() if each["event"] == "call_finished"]
    assert line["details"] == {
        "asked": "base_url",
        "model": "m",
        "input_tokens": 10,
        "output_tokens": 5,
        "prompt_sha256": hashlib.sha256(b"something private").hexdigest(),
        "answer_sha256": hashlib.sha256(b"SOMETHING PRIVATE").hexdigest(),
    }
    log = (project.state / "doorward.audit.jsonl").read_text()
    assert "something private" not in log.lower()


async def test_a_direct_tool(made: Any, provider: Any) -> None:
    """CONTRACT: LLM-08 `ask` as a tool of its own says what it used."""
    async with made('expose = ["ask"]').stdio() as agent:
        answer = await agent.client.call_tool("llm_ask", {"prompt": "one"})
    assert answer.structured_content == {"result": "ONE"}
    assert "used: llm: rounds 1, tokens 15" in answer.content[0].text


async def test_many_runs_at_once(made: Any, provider: Any) -> None:
    """CONTRACT: LLM-03 Each run has its own quota, and one principal's runs at once do not overrun what it may use in a
    day."""
    async with made("\n[servers.llm.daily]\nrounds = 25\n").stdio() as agent:
        found: list[Any] = []

        async def run(number: int) -> None:
            code = f"import llm\nfor n in range(10):\n    llm.ask('{number}-' + str(n))"
            found.append(await agent.run(code))

        async with anyio.create_task_group() as group:
            for number in range(4):
                group.start_soon(run, number)
    assert len(provider[1]) == 25
    refused = [answer["error"]["message"] for answer in found if not answer["ok"]]
    assert refused
    assert all("you may use 25 requests of models within 24 hours" in message for message in refused)
