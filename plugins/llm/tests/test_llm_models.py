"""What goes to a provider, and what comes of its answers, however odd they are."""

from __future__ import annotations

import gzip
import json

import anyio
import pytest
from doorward import ApiError, ConfigError, Refused, ServerContext, ServerError
from doorward_llm import LLM
from doorward_llm.http import MAX_RESPONSE_BYTES
from doorward_llm.models import Completion, Models
from doorward_testing import reserve_port
from httpx2 import BasicAuth

from .conftest import completion

pytestmark = pytest.mark.anyio
HELLO = [{"role": "user", "content": "Hello?"}]
KEY = "sk-test-0123456789abcdefghij"


@pytest.fixture
async def models(host, provider):
    """Makes `Models` of settings."""
    made = []

    def make(**settings):
        given = {"base_url": provider.url, "model": "m", "api_key": "${KEY}", **settings}
        made.append(Models(host.server(LLM.Settings, given, environ={"KEY": KEY})))
        return made[-1]

    yield make
    for each in made:
        await each.close()


async def test_what_a_provider_gets(models, provider, monkeypatch):
    """CONTRACT: LLM-10 One request to the configured address with the configured key, and nothing of the environment or
    of the machine besides."""
    for name in ("API_KEY", "ADMIN_KEY", "ORG_ID", "PROJECT_ID", "WEBHOOK_SECRET"):
        monkeypatch.setenv(f"OPENAI_{name}", "of-the-environment")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Custom: of-the-environment")
    answer = await models().complete(HELLO, max_tokens=7)
    assert answer == Completion("Hello!", "m", 10, 5, cost=None)
    [seen] = provider.seen
    assert seen["path"] == "/v1/chat/completions"
    assert seen["body"] == {"model": "m", "messages": HELLO, "max_tokens": 7}
    assert seen["headers"].pop("authorization") == f"Bearer {KEY}"
    ours = {"host", "accept", "accept-encoding", "content-type", "content-length", "user-agent"}
    assert {*seen["headers"]} - {"connection"} == ours
    assert "of-the-environment" not in str(seen)


async def test_a_named_provider_at_another_address(models, provider):
    """`base_url` wins over the provider's own address; its default model and its name for the most tokens stay."""
    await models(provider="openai", model="").complete(HELLO, max_tokens=7)
    assert provider.seen[0]["body"] == {"model": "gpt-4o-mini", "messages": HELLO, "max_completion_tokens": 7}


async def test_without_a_key(models, provider):
    """A server of one's own needs none: then none is sent."""
    await models(api_key=None).complete(HELLO)
    assert "authorization" not in provider.seen[0]["headers"]


async def test_an_auth_in_place_of_a_key(host, provider):
    """Where the key is none, the `auth` of the server signs the requests; it learns where they go."""
    context = host.server(LLM.Settings, {"base_url": provider.url, "model": "m"}, auth=lambda: BasicAuth("me", "pass"))
    await Models(context).complete(HELLO)
    assert provider.seen[0]["headers"]["authorization"].startswith("Basic ")
    assert host.validated(LLM.Settings, {"provider": "openai"}).url == "https://api.openai.com/v1/"


async def test_what_it_cost(models, provider):
    """The operator's prices come first; a missing count of tokens is estimated."""
    made = models(prices={"m": {"input": 1.0, "output": 10.0}})
    assert (await made.complete(HELLO)).cost == pytest.approx((10 * 1 + 5 * 10) / 1e6)
    odd = [{}, {"prompt_tokens": -1, "completion_tokens": 10**30}, {"prompt_tokens": True}, [], {"prompt_tokens": "x"}]
    for usage in odd:
        provider.answers = [{**completion("four score and seven"), "usage": usage}]
        found = await made.complete(HELLO)
        assert 0 < found.input_tokens < 20
        assert 0 < found.output_tokens < 20


async def test_nothing_is_configured(host):
    """Without a provider, the error says what to set."""
    with pytest.raises(ConfigError, match="has no provider") as caught:
        await Models(host.server(LLM.Settings)).complete(HELLO)
    assert "anthropic" in caught.value.hint


async def test_models_filter_by_themselves(host, provider):
    """CONTRACT: LLM-04 Whoever uses `Models`: a secret is taken out, also one in the schema, and a divided one stops
    the request."""
    context = host.server(LLM.Settings, {"base_url": provider.url, "model": "m"})
    hiding = ServerContext(
        *(context.name, context.settings, context.folder, context.state),
        outgoing=lambda text: text.replace("canary", "[secret]"),
    )
    made = Models(hiding)
    await made.complete([{"role": "system", "content": "a canary"}, *HELLO], schema={"const": "canary"})
    assert "canary" not in provider.seen[0]["raw"]
    assert provider.seen[0]["raw"].count("[secret]") == 2
    with pytest.raises(Refused, match="divided between them"):
        await made.complete([{"role": "user", "content": "can"}, {"role": "user", "content": "ary"}])
    assert len(provider.seen) == 1
    await made.close()


REDIRECT = {"Location": "{other}/v1/chat/completions"}


@pytest.mark.parametrize(
    ("answer", "kind", "said"),
    [
        ((200, {}, b"<html>"), ServerError, "no answer of a model"),
        ((200, {"Content-Type": "text/html"}, b"<html>"), ServerError, "no answer of a model"),
        ((200, {}, b"[]"), ServerError, "no answer of a model"),
        ((200, {}, b"null"), ServerError, "no answer of a model"),
        ((200, {}, b'{"choices": []}'), ServerError, "no answer of a model"),
        ((200, {}, b'{"choices": [{"message": "x"}]}'), ServerError, "no answer of a model"),
        ((200, {}, b'{"choices": [{"message": {"content": null, "refusal": "no"}}]}'), ServerError, "without a text: .no"),
        ((200, {}, b'{"choices": [{"message": {"content": [1]}}]}'), ServerError, "without a text"),
        ((200, {}, b"[" * 100_000), ServerError, "no answer of a model"),
        ((200, {}, b'"' + b"x" * (MAX_RESPONSE_BYTES + 2) + b'"'), ServerError, "more than 8 MiB"),
        ((200, {"Content-Encoding": "gzip"}, gzip.compress(b" " * 2**20)), ServerError, "packed"),
        ((307, REDIRECT, b""), ApiError, "answered 307"),
        ((301, REDIRECT, b""), ApiError, "answered 301"),
        ((401, {}, {"error": {"message": f"the key {KEY} is wrong"}}), ApiError, "answered 401"),
        ((404, {}, {"error": {"message": "there is no m"}}), ApiError, "there is no m"),
        ((400, {}, b"\xff\xfe"), ApiError, "answered 400"),
    ],
)  # fmt: skip
async def test_odd_answers(models, provider, answer, kind, said):
    """Whatever a provider answers, it is an error that says what is wrong, and nothing is asked elsewhere."""
    status, headers, body = answer
    other = provider.origin.replace("127.0.0.1", "localhost")
    provider.answers = [(status, {name: value.format(other=other) for name, value in headers.items()}, body)]
    with pytest.raises(kind, match=said):
        await models().complete(HELLO)
    assert len(provider.seen) == 1


@pytest.mark.slow
async def test_an_answer_without_end(models, provider):
    """A provider that sends a little for ever is given the seconds that are configured."""
    provider.answers = ["for ever"]
    with pytest.raises(ServerError, match=r"did not answer within 0\.3 s"):
        await models(timeout=0.3).complete(HELLO)


@pytest.mark.slow
async def test_a_refusal_for_the_moment(models, provider):
    """A request that was refused for the moment is made again."""
    provider.answers = [(429, {"Retry-After": "0"}, {}), (503, {"Retry-After": "0"}, {}), "Here."]
    assert (await models().complete(HELLO)).text == "Here."
    provider.answers = [(429, {"Retry-After": "0"}, {"error": {"message": "too much"}})]
    with pytest.raises(ApiError, match="too much") as caught:
        await models().complete(HELLO)
    assert caught.value.status == 429


async def test_a_lost_connection(models, provider):
    """A request that may have been answered is not made again: it could cost twice."""
    provider.answers = [(200, {"Content-Length": "9999"}, b"")]
    with pytest.raises(ServerError, match="connection to the provider was lost"):
        await models(timeout=100).complete(HELLO)
    assert len(provider.seen) == 1


@pytest.mark.slow
async def test_nobody_is_there(models, provider):
    """A closed port is told with where it is and what to check."""
    url = f"http://127.0.0.1:{reserve_port()}"
    with pytest.raises(ServerError, match=rf"{url} cannot be reached") as caught:
        await models(base_url=f"{url}/v1").complete(HELLO)
    assert "base_url" in caught.value.hint


@pytest.mark.slow
async def test_many_at_once(models, provider):
    """Requests of many runs share one client, which is opened once."""
    made = models()
    provider.answers = [lambda body: completion(body["messages"][0]["content"].upper())]
    found = {}

    async def ask(number):
        found[number] = (await made.complete([{"role": "user", "content": f"n{number}"}])).text

    async with anyio.create_task_group() as group:
        for number in range(20):
            group.start_soon(ask, number)
    assert found == {number: f"N{number}" for number in range(20)}


async def test_prompts_are_not_logged(models, provider, monkeypatch, capfd):
    """OPENAI_LOG, which has the library log what it sends, is without effect."""
    monkeypatch.setenv("OPENAI_LOG", "debug")
    await models().complete([{"role": "user", "content": "something private"}])
    assert json.loads(provider.seen[0]["raw"])["messages"][0]["content"] == "something private"
    assert "something private" not in "".join(capfd.readouterr())
