"""What never leaves: secrets, whoever's they are, and personal data, where the operator wants that."""

from __future__ import annotations

import json

import pytest
from doorward import Refused
from doorward_llm.filter import Filter
from doorward_llm.personal_data import without_personal_data
from doorward_llm.tokens import estimate

pytestmark = pytest.mark.anyio
CANARY = "c4n4ry-93b1f0e2d7-of-another-server"
LITERAL = "l1t3r4l-77aa0c41e5-in-the-file"
UNUSED = "unus3d-0d1e2f3a4b5c-of-the-environment"
ENVIRON = {"SHELF_TOKEN": CANARY, "UNUSED_API_KEY": UNUSED, "EDITOR": "an-editor-with-a-long-name"}
SHELF = {
    "source": "fake",
    "auth": [
        {"type": "static", "header": "X-Key", "value": "${SHELF_TOKEN}"},
        {"type": "static", "header": "X-Other-Token", "value": LITERAL},
    ],
}


@pytest.mark.slow
@pytest.mark.parametrize("secret", [CANARY, LITERAL, UNUSED])
async def test_a_canary_never_leaves(asking, provider, secret):
    """CONTRACT: LLM-04 A secret that Doorward could reveal does not reach the provider, although no call has used it
    yet: from a prompt, a message, a schema, or the correction of an answer; nor encoded as answers may be, nor divided
    between messages. What is no secret arrives."""
    talk = [{"role": "user", "content": "a"}, {"role": "assistant", "content": f"b {secret} c"}]
    halves = [{"role": "user", "content": secret[:17]}, {"role": "user", "content": secret[17:]}]
    async with asking(more={}, options={"environ": ENVIRON}, shelf=SHELF) as gate:
        assert (await gate.answer("other.ask", {"prompt": f"say an-editor-with-a-long-name {secret}!"})).ok
        outcome = await gate.answer("other.think", {"messages": talk})
        assert outcome.usage["other"]["redacted"] == 1
        await gate.answer("other.ask", {"prompt": json.dumps({"key": secret[::-1]}) + secret.encode().hex()})
        provider.answers = [f"no JSON {secret}", "[]"]
        assert (await gate.answer("other.ask", {"prompt": "q", "schema": {"type": "array"}})).value == []
        asked = len(provider.seen)
        schema = {"type": "object", "properties": {secret: {}}}
        assert (
            "`schema` holds a secret"
            in (await gate.answer("other.ask", {"prompt": "q", "schema": schema})).error.message
        )
        assert "divided between them" in (await gate.answer("other.think", {"messages": halves})).error.message
    assert len(provider.seen) == asked == 5
    everything = "".join(each["raw"] for each in provider.seen)
    assert "say an-editor-with-a-long-name [secret]!" in everything
    for form in (secret, secret[::-1], secret.encode().hex()):
        assert form not in everything


@pytest.mark.slow
async def test_tokens_of_strangers_do_not_leave(asking, provider):
    """CONTRACT: LLM-04 What looks like a credential is taken out, although Doorward has never heard of it."""
    ours = ["ghp_" + "a1B2" * 9, "AKIA" + "ABCD1234" * 2, "password=hunter22", "Bearer " + "x1Y2z3" * 6]
    async with asking() as gate:
        assert (await gate.answer("other.ask", {"prompt": "Look: " + " and ".join(ours)})).ok
    assert provider.prompts == ["Look: [secret] and [secret] and password=[secret] and Bearer [secret]"]


@pytest.mark.slow
async def test_the_answer_is_filtered_before_it_goes_back(asking, provider):
    """A model that writes a key into an answer that does not fit does not get it back."""
    provider.answers = ["the key is sk-abcdefghijklmnop1234", "[]"]
    async with asking() as gate:
        assert (await gate.answer("other.ask", {"prompt": "q", "schema": {"type": "array"}})).ok
    assert "sk-abcdefghijklmnop1234" not in provider.seen[1]["raw"]


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("ann@example.com, bob.b+x@mail.co.uk.", "[email], [email]."),
        ("call +49 30 901820 or (212) 555-0123 or 212-555-0123", "call [phone] or [phone] or [phone]"),
        ("4111 1111 1111 1111/5500-0000-0000-0004", "[card]/[card]"),
        ("DE89 3704 0044 0532 0130 00 and GB82WEST12345698765432 USD", "[iban] and [iban] USD"),
        ("536-90-4399", "[ssn]"),
    ],
)
def test_personal_data(text, clean):
    """CONTRACT: LLM-04 Addresses, phones, cards, accounts and social security numbers are found."""
    found, kinds = without_personal_data(text)
    assert found == clean
    assert {f"[{kind}]" for kind in kinds} <= set(clean.replace(",", " ").replace(".", " ").replace("/", " ").split())


@pytest.mark.parametrize(
    "text",
    [
        "2026-11-22 10:15:00 build 1.2.3.4567 id 1234567890 order 202611221015",
        "commit 3f786850e387550fdab836ed7e6dc881de23001b at 1763806522123",
        "ISBN 978-3-16-148410-0, 192.168.100.200, 12345678901234567890, 1111111111111111",
        "uuid 550e8400-e29b-41d4-a716-446655440000, @decorator, x@y, 000-12-3456",
    ],
)
def test_what_is_no_personal_data(text):
    """Dates, hashes, ids and versions stay: what has a checksum must pass it."""
    assert without_personal_data(text) == (text, set())


@pytest.mark.slow
@pytest.mark.parametrize(
    "text", ["1 " * 20_000, "a@" * 20_000, "a.b@" * 20_000, "DE89 " * 10_000, "a@" + "b." * 30_000, "12-" * 20_000]
)
def test_personal_data_takes_no_time(text):
    """A hostile text is read in one pass, or the test would not end."""
    without_personal_data(text)


@pytest.mark.slow
async def test_personal_data_by_choice(asking, provider):
    """CONTRACT: LLM-04 Personal data is kept, taken out or refused, as the operator says; its kinds are told, and never
    the data."""
    prompt = {"prompt": "mail ann@example.com"}
    for choice in ("keep", "redact", ["phone"]):
        async with asking(personal_data=choice) as gate:
            assert (await gate.answer("other.ask", prompt)).ok
    async with asking(personal_data="refuse") as gate:
        outcome = await gate.answer("other.ask", prompt)
    assert outcome.error.message == "the prompt holds personal data (email): nothing was sent"
    assert outcome.error.kind == "policy"
    assert provider.prompts == ["mail ann@example.com", "mail [email]", "mail ann@example.com"]


@pytest.mark.slow
async def test_personal_data_by_default(asking, provider):
    """CONTRACT: LLM-04 Without a word of the operator, e-mail addresses and social security numbers do not reach a
    model, the card says so, and what was taken out is counted; numbers that may be ids stay."""
    prompt = "[email] ann@example.com, 536-90-4399, order 4111111111111111 of 2125550123"
    messages = [{"role": "user", "content": prompt}]
    async with asking() as gate:
        card = str(await gate.get_functions(["other.ask"]))
        for function, given in (("ask", {"prompt": prompt}), ("think", {"messages": messages})):
            outcome = await gate.answer(f"other.{function}", given)
            assert (outcome.ok, outcome.usage["other"]["redacted"]) == (True, 2)
        await gate.servers.source("other").models().complete(messages)
        schema = await gate.answer("other.ask", {"prompt": "q", "schema": {"enum": ["ann@example.com"]}})
    assert "do not reach the model: [secret], [email], [ssn] stand in their place" in card
    assert provider.prompts == ["[email] [email], [ssn], order 4111111111111111 of 2125550123"] * 3
    assert schema.error.message == "`schema` holds a secret, or personal data: nothing was sent"
    assert schema.error.hint == "Leave it out of the schema."


async def test_a_divided_secret():
    """A secret shows when the texts are put together; texts without one are put together, too."""
    made = Filter(lambda text: text.replace("canary", "[secret]"), "keep")
    assert await made.cleared(["a canary", "a", "bird"]) == ["a [secret]", "a", "bird"]
    with pytest.raises(Refused):
        await made.cleared(["a can", "ary"])


def test_estimates():
    """An estimate is near to what tokenizers say of prose, and higher than that of a word for digits."""
    prose = "Doorward lets an agent use any number of services by writing a little Python. " * 10
    assert 150 <= estimate(prose) <= 300
    assert estimate("7" * 100) >= 50
    assert estimate("") == 4
