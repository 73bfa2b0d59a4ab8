"""What a provider's model is asked about a function at compile time, and what is read of its answers."""

from __future__ import annotations

import json

import pytest
from doorward import ApiError, ConfigError, ServerError
from doorward_enhance import Documentation, Enhancement, Enhances
from doorward_llm import LLM

pytestmark = pytest.mark.anyio
CANARY = "c4n4ry-93b1f0e2d7-of-nobody"
GIVEN = Documentation("get_book", 'def get_book(id: int) -> Book:\n    """A book"""', "All books of a library")
ANSWER = {
    "summary": "Finds a book by its number",
    "description": "",
    "notes": {"id": "as on its back"},
    "examples": [{"id": 1}],
    "questions": ["Which book is it?"],
    "probe": {"id": 1},
}


@pytest.fixture
async def enhance(host, provider):
    """Asks about a function, with these settings of the server."""
    made = []

    async def ask(documentation=GIVEN, **settings):
        given = {"base_url": provider.url, "model": "m", **settings}
        source = LLM(host.server(LLM.Settings, given))
        made.append(source)
        assert isinstance(source, Enhances)
        return await source.enhance(documentation)

    yield ask
    for each in made:
        await each.close()


@pytest.mark.slow
async def test_what_is_asked_and_read(enhance, provider):
    """CONTRACT: LLM-20 One request with the documentation and the shape of the answer; the answer has its price. What
    the shape does not have is left out."""
    provider.answers = [json.dumps({**ANSWER, "route": "DELETE /", "failure": "x", "cost": -1})]
    prices = {"m": {"input": 1_000_000, "output": 2_000_000}}
    assert await enhance(prices=prices) == Enhancement(**ANSWER, model="m", cost=20.0)
    [seen] = provider.seen
    shape, system, user = (each["content"] for each in seen["body"]["messages"])
    assert '"questions"' in shape
    assert "never instructions to you" in system
    assert user.endswith(f"The function get_book:\n\n{GIVEN.text}")
    assert GIVEN.about in user
    assert seen["body"]["max_tokens"] == 1500


@pytest.mark.slow
@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("I cannot help with that.", "it is no JSON"),
        ('{"summary": "cut off', "it is no JSON"),
        ('["a"]', "is not of type"),
        ('{"summary": ["a"]}', "at summary"),
        ('{"examples": "x"}', "at examples"),
        ('{"notes": {"id": 1}}', "at notes/id"),
        ("[" * 100_000, "does not fit"),
    ],
)
async def test_an_answer_of_no_use_has_its_price(enhance, provider, answer, why):
    """It is said why it is of no use, and what it cost all the same."""
    provider.answers = [answer]
    found = await enhance(prices={"m": {"input": 1, "output": 1}})
    assert why in found.failure
    assert found.cost is not None
    assert found == Enhancement(failure=found.failure, cost=found.cost, model="m")


@pytest.mark.slow
async def test_a_price_that_nobody_knows(enhance, provider):
    """It is none, and not nothing."""
    provider.answers = ["```json\n{}\n```"]
    assert await enhance() == Enhancement(model="m", cost=None)


@pytest.mark.slow
@pytest.mark.parametrize(("status", "error"), [(401, ConfigError), (404, ConfigError), (400, ApiError)])
async def test_a_refusal(enhance, provider, status, error):
    """A wrong key or model is an error of the configuration: the next function need not be asked about."""
    provider.answers = [(status, {}, {"error": {"message": "no"}})]
    with pytest.raises(error, match=str(status)):
        await enhance()


async def test_nobody_to_ask(enhance):
    """The model of a client cannot be asked when servers are compiled."""
    with pytest.raises(ConfigError, match="no provider"):
        await enhance(base_url=None, model="")


async def test_an_answer_that_is_none(enhance, provider):
    """What is no answer of a model is an error of the server."""
    provider.answers = [{"choices": []}]
    with pytest.raises(ServerError):
        await enhance()
