"""Sessions that outlive their process: sealed, ended everywhere, and of nobody who writes the store. So do requests."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from doorward.engines import Put, scan_all
from doorward_console.stored_sessions import LINKS, TABLE, key_of

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

KEY = "a key that is long enough to be one"


async def stored(at: Any) -> list[Any]:
    return [*await scan_all(at.gate.store, TABLE)]


async def test_a_session_outlives_its_process(served: Any, tokens: str) -> None:
    """Of the link and of a token; forms go on working; a sign-out in one process ends it in all."""
    more, head = tokens, f'vault_key = "{KEY}"\n'
    async with served(more=more, head=head) as at:
        person, ann = await at.operator(), await at.signed_in("ann")
        page = await person.get("/console/runs")
        forgery, cookies = at.forgery(page), [who.cookies["doorward_console"] for who in (person, ann)]
        records = await stored(at)
        assert len(records) == 2
        for canary in (*cookies, forgery, "doorward_ann", KEY):
            assert not any(canary.encode() in each.value or canary in each.key for each in records)
    async with served(more=more, head=head) as at, served(more=more, head=head) as other:
        for place in (at, other):
            for cookie, name in zip(cookies, ("local · operator", "ann"), strict=True):
                again = await place.person(Cookie=f"doorward_console={cookie}").get("/console/runs")
                assert name in again.text
        mine = at.person(Cookie=f"doorward_console={cookies[0]}")
        assert (await mine.post("/console/sign-out", data={"forgery": forgery})).status_code == 303
        for place in (at, other):
            gone = await place.person(Cookie=f"doorward_console={cookies[0]}").get("/console/runs")
            assert gone.status_code == 303
        assert len(await stored(at)) == 1


async def test_a_session_outlives_a_change_of_the_key(served: Any, tokens: str) -> None:
    async with served(more=tokens, head=f'vault_key = "{KEY}"\n') as at:
        cookie = (await at.signed_in("ann")).cookies["doorward_console"]
    for before, status in ((f'vault_key_before = "{KEY}"\n', 200), ("", 303)):
        async with served(more=tokens, head=f'vault_key = "another {KEY}"\n{before}') as at:
            page = await at.person(Cookie=f"doorward_console={cookie}").get("/console/runs")
            assert page.status_code == status


async def test_a_link_works_once_in_all_processes(served: Any) -> None:
    """That of one process at another one, which share a store and a key; a changed, or an old one, at none."""
    head = f'vault_key = "{KEY}"\n'
    async with served(head=head) as at, served(head=head) as other:
        link = at.link()
        ends, nonce, signature = link.split(".")
        for wrong in (
            f"{int(ends) + 1}.{nonce}.{signature}",
            f"{ends}.{nonce}.",
            f"x.{nonce}.{signature}",
            "..",
            "",
            "\ud800",
        ):
            data = {"link": wrong.encode(errors="surrogatepass")}
            assert (await other.person().post("/console/enter", data=data)).status_code == 403
        codes = [
            (await who.person().post("/console/enter", data={"link": link})).status_code for who in (other, at, other)
        ]
        assert codes == [303, 403, 403]
        assert all(
            link not in each.key and link.encode() not in each.value for each in await scan_all(at.gate.store, LINKS)
        )


async def test_who_writes_the_store_is_not_signed_in(served: Any, tokens: str) -> None:
    """What is not sealed with the key, or is the record of another session, is none. Without a key nothing is stored."""
    async with served(more=tokens, head=f'vault_key = "{KEY}"\n') as at:
        await at.signed_in("ann")
        [record] = await stored(at)
        forged = b'{"principal": "local", "forgery": "x", "token": "", "ends": 9e9}'
        for content in (record.value, forged, b"", b"[]"):
            await at.gate.store.commit(Put(TABLE, key_of("mine"), content))
            page = await at.person(Cookie="doorward_console=mine").get("/console/runs")
            assert page.status_code == 303
    async with served(more=tokens) as at:
        await at.operator()
        assert TABLE not in await at.gate.store.names("tables") or len(await stored(at)) == 2


async def test_two_people_answer_at_once_after_a_restart(served: Any) -> None:
    """Each at another process of one store: one answer counts, and the other person is told that it is too late."""
    async with served() as at:
        run = (await at.asked()).waiting.run
    async with served() as at, served() as other:
        people = [await at.operator(), await other.operator()]
        [row] = (await people[1].get("/console/approvals.json")).json()["waiting"]
        page = f"/console/approvals/{row['id']}"
        forms = [{"forgery": at.forgery(await person.get(page)), "answer": said} for person, said in zip(people, ("yes", "no"), strict=True)]  # fmt: skip
        answers = await asyncio.gather(
            *(person.post(page, data=form) for person, form in zip(people, forms, strict=True))
        )
        codes = [answer.status_code for answer in answers]
        assert sorted(codes) == [303, 400]
        assert "answered already" in answers[codes.index(400)].text
        from doorward_durable_runs import STORED_RUNS

        ended = await other.gate.services[STORED_RUNS].resume(run, principal="ann")
        assert ended.ok == (codes[0] == 303), ended
