"""Programs that ask: through a gateway, with all that stands between them and a model."""

from __future__ import annotations

import hashlib
import json

import pytest
from doorward import hookimpl
from doorward_testing import reserve_port
from doorward_testing.samples import MemoryCache
from doorward_text import outcome_as_text

from .conftest import completion

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


async def test_a_program_asks(asking, provider):
    """CONTRACT: LLM-01 `ask` and `think`, plainly and awaited, with our names of parameters and those of other
    systems."""
    provider.answers = [lambda body: body["messages"][-1]["content"].upper()]
    code = """
import asyncio
talk = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}, {"role": "user", "content": "c"}]
result = [
    await other.ask("one"),
    await other.ask("two", system_prompt="You are a helpful assistant", max_tokens=5),
    await other.ask(prompt="three", systemPrompt="You are a code analysis expert", maxTokens=6),
    await other.think(messages=talk, model="m", maxTokens=7),
    await other.think(talk),
    *await asyncio.gather(other.ask("four"), other.ask("five")),
]
"""
    async with asking() as gate:
        outcome = await gate.execute(code)
    assert outcome.value == ["ONE", "TWO", "THREE", "C", "C", "FOUR", "FIVE"], outcome.error
    bodies = [each["body"] for each in provider.seen]
    assert [body["max_tokens"] for body in bodies] == [1000, 5, 6, 7, 1000, 1000, 1000]
    assert bodies[1]["messages"][0] == {"role": "system", "content": "You are a helpful assistant"}
    assert [each["role"] for each in bodies[3]["messages"]] == ["user", "assistant", "user"]


async def test_what_a_run_used(asking, host):
    """CONTRACT: LLM-08 The answer says how many rounds and tokens a run took and what they cost, that of a failed run,
    a cached one and a direct call too; answers of runs that asked nobody say nothing."""
    host.install_real("kept_programs")
    host.install("cache", "memory", MemoryCache)
    async with asking(prices={"m": {"input": 1.0, "output": 2.0}}, more={"cache": "memory"}) as gate:
        outcome = await gate.execute('x = "a"\nawait other.ask(x)\nawait other.ask("b")')
        used = {"other": {"rounds": 2, "tokens": 30, "cost": 0.00004}}
        assert outcome.usage == used
        assert "used: other: rounds 2, tokens 30, cost 4e-05" in outcome_as_text(outcome)
        assert (await gate.run_cached(outcome.cache_id, {"x": "c"})).usage == used
        assert (await gate.execute('await other.ask("b")\n1 / 0')).usage["other"]["rounds"] == 1
        assert (await gate.answer("other.ask", {"prompt": "d"})).usage["other"]["tokens"] == 15
        assert not (await gate.execute("1 + 1")).usage


async def test_the_eleventh_round(asking, provider):
    """CONTRACT: LLM-03 A run asks ten times, one after the other or all at once; the error says what the limit is."""
    code = """
import asyncio
answers, errors = [], []
async def ask(n):
    try:
        answers.append(await other.ask(f"question {n}"))
    except Exception as error:
        errors.append(str(error))
if at_once:
    await asyncio.gather(*[ask(n) for n in range(11)])
else:
    for n in range(11):
        await ask(n)
result = [len(answers), errors]
"""
    async with asking() as gate:
        for at_once in (False, True):
            provider.seen.clear()
            outcome = await gate.execute(f"at_once = {at_once}\n{code}")
            assert outcome.value[0] == len(provider.seen) == 10, outcome
            assert outcome.value[1] == ["a run may ask a model 10 times, and this one has"]
            assert outcome.usage["other"] == {"rounds": 10, "tokens": 150}


async def test_tokens_of_a_run(asking, provider):
    """CONTRACT: LLM-03 What a request may take is reserved before it is sent, so that requests at once do not overrun
    the quota; what it did not take is given back."""
    provider.answers = [completion("x", prompt=50, answer=900)]
    code = """
import asyncio
async def ask():
    try:
        return await other.ask("q", max_tokens=900)
    except Exception as error:
        return str(error)
result = await asyncio.gather(*[ask() for _ in range(5)])
"""
    async with asking(tokens=2000) as gate:
        outcome = await gate.execute(code)
        assert sorted(outcome.value)[-2:] == ["x", "x"], outcome
        assert outcome.value.count("x") == len(provider.seen) == 2
        assert "this request may take 904 tokens; of the 2000 of a run 100 are left" in outcome.value
        assert outcome.usage["other"] == {"rounds": 2, "tokens": 1900}
        refused = await gate.execute('await other.ask("word " * 10000)')
        assert "the prompt has about 12512 tokens, and a run may use 2000" in refused.error.message
        assert (refused.error.kind, len(provider.seen)) == ("limit", 2)
        too_long = await gate.execute('await other.ask("q", max_tokens=5000)')
        assert "4096" in too_long.error.message


async def test_money_of_a_run(asking, provider):
    """CONTRACT: LLM-03 Money is limited where the price is known; where it is not, nothing is asked."""
    provider.answers = [completion("x", prompt=0, answer=100)]
    ask = "for _ in range(3):\n    await other.ask('q', max_tokens=100)"
    async with asking(cost=0.25, prices={"m": {"input": 0.0, "output": 1000.0}}) as gate:
        outcome = await gate.execute(ask)
        assert "may cost $0.1, and a run no more than $0.25" in outcome.error.message
        assert outcome.usage["other"]["cost"] == 0.2
        assert len(provider.seen) == 2
    async with asking(cost=0.25) as gate:
        outcome = await gate.execute(ask)
        assert "the price of m is not known" in outcome.error.message
        assert "prices" in outcome.error.hint
        assert len(provider.seen) == 2


async def test_a_failed_request_gives_tokens_back(asking, provider):
    """A refused request is a round, but takes no tokens; one that broke off counts as if it had taken all."""
    provider.answers = [(400, {}, {"error": {"message": "no"}})]
    ask = "try:\n    await other.ask('q', max_tokens=100)\nexcept Exception:\n    pass"
    async with asking(timeout=0.3) as gate:
        assert (await gate.execute(ask)).usage["other"] == {"rounds": 1}
        provider.answers = ["for ever"]
        assert (await gate.execute(ask)).usage["other"] == {"rounds": 1, "tokens": 104}
    async with asking(base_url=f"http://127.0.0.1:{reserve_port()}/v1") as gate:
        assert (await gate.execute(ask)).usage["other"] == {"rounds": 1}
    async with asking(api_key="${NOT_SET}") as gate:
        assert not (await gate.execute(ask)).usage


async def test_quota_of_a_principal(asking, provider):
    """CONTRACT: LLM-03 What one principal may use within a day holds over runs and restarts, and is no other's."""
    ask = "await other.ask('q')"
    settings = {"daily": {"rounds": 3}, "more": {"principals": {"ann": {}, "bob": {}}}}
    for _ in range(2):
        async with asking(**settings) as gate:
            outcomes = [await gate.execute(ask, principal="ann") for _ in range(2)]
    assert [outcome.ok for outcome in outcomes] == [True, False]
    assert "you may use 3 requests of models within 24 hours; 0 are left" in outcomes[1].error.message
    assert outcomes[1].error.kind == "limit"
    assert not outcomes[1].usage
    async with asking(**settings) as gate:
        assert (await gate.execute(ask, principal="bob")).ok
    assert len(provider.seen) == 4


async def test_an_answer_that_fits_a_schema(asking, provider):
    """CONTRACT: LLM-01 With a schema the result is a JSON value that fits; an answer that does not is asked for again,
    with what was wrong, and each attempt is a round."""
    provider.answers = ['```json\n{"age": "old"}\n```', "no JSON", '{"age": 7}']
    schema = {"type": "object", "properties": {"age": {"type": "integer"}}, "required": ["age"]}
    code = f"await other.ask('How old?', schema={schema!r})"
    async with asking() as gate:
        outcome = await gate.execute(code)
        assert outcome.value == {"age": 7}
        assert outcome.usage["other"]["rounds"] == 3
        last = provider.seen[-1]["body"]["messages"]
        assert [each["role"] for each in last] == ["system", "user", "assistant", "user", "assistant", "user"]
        assert json.dumps(schema, separators=(",", ":")) in last[0]["content"]
        assert 'at age: "old" is not of type "integer"' in last[3]["content"]
        assert "it is no JSON" in last[5]["content"]
        provider.answers = ['{"age": true}']
        outcome = await gate.execute(code)
        assert "gave no answer that fits `schema`, in 3 attempts" in outcome.error.message
        assert "is not of type" in outcome.error.message
        assert outcome.usage["other"]["rounds"] == 3


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "nothing"},
        {"$ref": "http://127.0.0.1:9/schema"},
        {"$ref": "file:///etc/passwd"},
        {"items": {"$ref": "#/nowhere"}},
        {"const": "x" * 30_000},
    ],
)
async def test_a_schema_that_is_none(asking, provider, schema):
    """A schema that is wrong, too long, or leads elsewhere is refused before anything is asked; nothing is fetched."""
    async with asking() as gate:
        outcome = await gate.execute(f"await other.ask('q', schema={schema!r})")
    assert "`schema`" in outcome.error.message
    assert not provider.seen


async def test_allowed_models_and_system_prompts(asking, provider):
    """CONTRACT: LLM-05, LLM-11 Only what the operator allows: other system prompts and models are refused, with those
    that may be named; messages hold no system prompt either."""
    user = {"role": "user", "content": "q"}
    async with asking(models=["gpt-*"]) as gate:
        for arguments, said in (
            ({"system_prompt": "Be evil"}, "this system prompt is not allowed"),
            ({"model": "other"}, "the model 'other' is not allowed"),
            ({"messages": [{"role": "system", "content": "Be evil"}, user]}, "messages"),
        ):
            outcome = await gate.answer("other.think", {"messages": [user], **arguments})
            assert said in outcome.error.message
            assert not provider.seen
        assert "gpt-*" in (await gate.answer("other.think", {"messages": [user], "model": "x"})).error.hint
        assert (await gate.answer("other.think", {"messages": [user], "model": "gpt-9"})).ok
        assert provider.seen[0]["body"]["model"] == "gpt-9"
    async with asking(system_prompts=["*"]) as gate:
        assert (await gate.answer("other.ask", {"prompt": "q", "system_prompt": "Be kind"})).ok


async def test_it_is_off_unless_it_is_there(asking, host, provider):
    """CONTRACT: LLM-02 Without the server no program can ask; with it, a run may be narrowed to functions without
    it, and policy may deny it."""
    ask = "await other.ask('q')"
    async with asking() as gate:
        assert not (await gate.execute(ask, functions=["weather.*"])).ok
        assert (await gate.execute(ask, functions=["other.ask"])).ok
    async with asking(more={"policy": {"deny": ["other.*"]}}) as gate:
        assert not (await gate.execute(ask)).ok
    async with asking(more={"policy": {"deny": [provider.origin]}}) as gate:
        assert not (await gate.execute(ask)).ok
    async with host.gateway('executor = "here"') as gate:
        assert not (await gate.execute(ask)).ok
    assert len(provider.seen) == 1


async def test_audit_has_hashes(asking, provider):
    """CONTRACT: LLM-07 The audit log has model, tokens and the SHA-256 of what was sent and answered, and never a
    text."""
    provider.answers = ["a private answer"]
    async with asking() as gate:
        gate.plugins.manager.register(kept := Kept())
        await gate.execute("await other.ask('a private question')")
        await gate.execute("await other.ask('a private question', system_prompt='a private hint')")
    [asked, refused] = kept.records
    assert asked.details == {
        "prompt_sha256": hashlib.sha256(b"a private question").hexdigest(),
        "answer_sha256": hashlib.sha256(b"a private answer").hexdigest(),
        "asked": "base_url",
        "model": "m",
        "input_tokens": 10,
        "output_tokens": 5,
    }
    assert (refused.ok, refused.details) == (False, {})


class Kept:
    """An observer that keeps what it is told of calls."""

    def __init__(self):
        self.records = []

    @hookimpl
    def call_finished(self, call, record):
        self.records.append(record)


async def test_no_model_is_there(asking, provider):
    """CONTRACT: LLM-09 Without a client to ask and without a provider, the error says what to configure."""
    async with asking(base_url=None, model=None) as gate:
        outcome = await gate.execute("await other.ask('q')")
    assert outcome.error.message == "there is no model to ask: no client is there to be asked"
    assert "provider" in outcome.error.hint
    assert outcome.error.kind == "config"
    assert not outcome.usage


async def test_an_answer_is_not_trusted(asking, provider):
    """What a model answers is data: large text is cut for the agent like any value, and a key that a provider echoes is
    taken out of errors and answers."""
    key = "sk-test-0123456789abcdefghij"
    options = {"options": {"environ": {"KEY": key}}}
    provider.answers = [f"your key is {key}"]
    async with asking(api_key="${KEY}", **options) as gate:
        ask = "await other.ask('q')"
        outcome = await gate.execute(ask)
        assert outcome.value == "your key is [secret]"
        provider.answers = [(401, {}, {"error": {"message": f"{key} is wrong"}})]
        outcome = await gate.execute(ask)
        assert key not in str(outcome)
        assert "401" in outcome.error.message
        provider.answers = ["x" * 500_000]
        outcome = await gate.execute(ask)
        assert outcome.truncated["bytes"] >= 500_000
