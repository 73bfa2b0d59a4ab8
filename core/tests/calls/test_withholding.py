"""What a program makes itself tells nothing of credentials, however it guesses."""

from __future__ import annotations

import base64
import contextlib
import json
import secrets as tokens
import sqlite3
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from doorward import ApiError, Call, Compiled, Function, LimitExceeded, ServerContext
from doorward.calls.withholding import MAX_WITHHELD, WITHHELD_SECONDS, Withholding
from doorward.engines import MemoryStore
from doorward.model.principals import via
from doorward.secrets import needles as needles_module
from doorward.secrets.needles import Forms, Needles
from doorward.secrets.owners import Owner
from doorward.secrets.scrubber import MIN_UNGUESSABLE_BITS, answers_of, bits, made_by
from doorward.secrets.variants import forms

from ..conftest import Unusable, Weather

pytestmark = pytest.mark.anyio

STRONG = "k7Qz-91xLw-Vb40-mTe8"
WEAK = "48151623"
CONFIG = """
store = "shared"
executor = "here"
# So few that a process asks the others before each run.
limits.rate = 39
[servers.weather]
source = "echo"
token = "${{TOKEN}}"
[servers.other]
source = "echo"
token = "${{OTHER}}"
[principals.alice]
servers = ["weather"]
[principals.eve]
servers = []
"""


async def test_an_endpoint_is_no_way_around() -> None:
    """Answers that were withheld from a person count by whatever endpoint the next program comes."""
    withholding = Withholding()
    for principal in ("alice", via("alice", "desk")) * MAX_WITHHELD:
        await withholding.withheld(principal, "it", "weather")
    for principal in ("alice", via("alice", "desk"), via("alice", "field")):
        with pytest.raises(LimitExceeded):
            withholding.admit(principal)
    withholding.admit("bob")


class Echo(Weather):
    """An API that shows what it is sent, the credential too if it is asked for it."""

    def __init__(self, server: ServerContext) -> None:
        super().__init__(server)

    async def compile(self) -> Compiled:
        text = {"type": "object", "properties": {"text": {"type": "string"}, "file": {}}}
        return Compiled([Function(self.name, name, name, "", parameters=text) for name in ("quiet", "echo", "fail")])

    async def call(self, call: Call) -> Any:
        token = self.settings.token.reveal()
        said = {**call.arguments, "authorization": f"Bearer {token}"}
        if call.function.name == "fail":
            raise ApiError("422: wrong", status=422, body=said)
        return said if call.function.name == "echo" else "quiet"


@pytest.fixture
def opened(doorward_host: Any, shared_store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> Any:
    from ..conftest import InProcess

    doorward_host.install("source", "echo", Echo)
    doorward_host.install("executor", "here", InProcess)

    def of(token: str, other: str = "another-credential-7Hq2") -> Any:
        monkeypatch.setenv("TOKEN", token)
        monkeypatch.setenv("OTHER", other)
        return doorward_host.gateway(CONFIG.format())

    return of


USES = "await weather.quiet()\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    "told", ["print({0!r})", "result = {0!r}", "result = [1, {{'x': {0!r}}}]", "raise ValueError({0!r})"]
)
@pytest.mark.parametrize("form", [str, lambda t: base64.b64encode(t.encode()).decode(), lambda t: t[::-1]])
async def test_what_a_program_made_is_withheld_whole(opened: Any, told: str, form: Any) -> None:
    """Where the credential stands in it is not told: with a million guesses beside it, that would say which is
    right."""
    async with opened(STRONG) as gate:
        outcome = await gate.execute(USES + told.format(form(STRONG)), principal="alice")
    assert not outcome.ok
    assert (outcome.error.kind, outcome.error.type) == ("guard", "SecretWithheld")
    answer = json.dumps(asdict(outcome), default=str)
    assert form(STRONG) not in answer
    assert "[secret]" not in answer
    assert not outcome.printed
    assert not outcome.artefacts


async def test_nothing_is_told_of_credentials_that_cannot_have_reached_a_program(opened: Any) -> None:
    """Whoever may not use a server, or has not called it, sees a right guess as they see a wrong one."""
    async with opened(STRONG) as gate:
        await gate.execute(USES, principal="local")
        for principal, code in (("eve", ""), ("alice", "")):
            outcome = await gate.execute(f"{code}result = {STRONG!r}", principal=principal)
            assert outcome.value == STRONG
        assert (
            await gate.execute(USES + "result = 'another-credential-7Hq2'", principal="alice")
        ).ok  # of the other server


async def test_what_another_server_was_sent_is_taken_out_of_answers(opened: Any) -> None:
    """A server may have read it in a file. A guard's words about an answer are treated alike."""
    from doorward import hookimpl

    class Quoting:
        @hookimpl
        def guard_result(self, call: Call, result: Any) -> str | None:
            return f"it holds {result}" if "refuse" in str(result) else None

    async with opened(STRONG, "another-credential-7Hq2") as gate:
        gate.plugins.manager.register(Quoting())
        assert (await gate.execute("await other.quiet()", principal="local")).ok
        gate.secrets.remember("another-credential-7Hq2", whose=Owner("other"))
        told = gate.secrets.redactor(answers_of("weather", "alice")).text(f"x another-credential-7Hq2 {STRONG}")
        assert told.startswith("x [secret]")
        refused = await gate.execute("await weather.echo(text='refuse')", principal="alice")
    assert "it holds" in refused.error.message
    assert STRONG not in refused.error.message


@pytest.mark.parametrize("word", [WEAK, "postgres", "Summer2026", "correct horse"])
async def test_a_credential_that_can_be_guessed_is_not_searched_for_in_what_programs_make(
    opened: Any, word: str
) -> None:
    """A program that writes all numbers of eight digits sees all of them again. From answers it is taken out all the
    same."""
    assert bits(word) < MIN_UNGUESSABLE_BITS < bits(STRONG)
    async with opened(word) as gate:
        outcome = await gate.execute(USES + f"print({word!r})\nresult = {word!r}", principal="alice")
        assert (outcome.value, outcome.printed.strip()) == (word, word)
        echoed = await gate.execute("result = await weather.echo()", principal="alice")
        assert echoed.value == {"authorization": "Bearer [secret]"}


async def test_a_users_name_is_no_guess(doorward_host: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a setting that is no credential names, a program may know: it is taken out of answers, and nothing is
    withheld for it."""
    from doorward import Template

    from ..conftest import InProcess, WeatherSettings

    class Named(WeatherSettings):
        user: Template

    class OfUser(Echo):
        Settings = Named

        async def call(self, call: Call) -> Any:
            return {"user": await self.settings.user.get(), **call.arguments}

    doorward_host.install("source", "echo", OfUser)
    doorward_host.install("executor", "here", InProcess)
    monkeypatch.setenv("JIRA_USER", "jane.doe@company.example")
    config = 'executor = "here"\n[servers.weather]\nsource = "echo"\nuser = "${JIRA_USER}"\n'
    async with doorward_host.gateway(config) as gate:
        code = "print('jane.doe@company.example')\nresult = await weather.echo(text='jane.doe@company.example')"
        outcome = await gate.execute(code)
    assert outcome.value == {"user": "[secret]", "text": "[secret]"}
    assert outcome.printed.strip() == "jane.doe@company.example"


@pytest.mark.parametrize("function", ["echo", "fail"])
@pytest.mark.parametrize("token", [STRONG, WEAK])
async def test_an_answer_does_not_tell_a_right_guess(opened: Any, token: str, function: str) -> None:
    """An API that repeats what it is sent would show `[secret]` in the place of the right one among many guesses."""
    guesses = [str(10**7 + number) for number in range(50)] + [token]
    call = f"result = await weather.{function}(text={json.dumps(' '.join(guesses))})"
    async with opened(token) as gate:
        outcome = await gate.execute(call, principal="alice")
        wrong = await gate.execute(call.replace(token, "87654321"), principal="alice")
    assert not outcome.ok
    assert "SecretWithheld" in outcome.error.type + outcome.error.message or "withheld" in outcome.error.message
    assert "[secret]" not in json.dumps(asdict(outcome), default=str)
    assert "[secret]" in json.dumps(asdict(wrong), default=str) or not wrong.ok


async def test_after_a_few_such_answers_a_principals_programs_are_refused(opened: Any, caplog: Any, capfd: Any) -> None:
    """Each tells a guesser one bit. Others go on; the log tells the operator; time lifts it."""
    async with opened(STRONG) as gate:
        for _ in range(MAX_WITHHELD):
            assert (await gate.execute(USES + f"result = {STRONG!r}", principal="alice")).error.type == "SecretWithheld"
        refused = await gate.execute("result = 1", principal="alice")
        assert (refused.ok, refused.error.kind) == (False, "limit")
        assert not (await gate.run_cached("x", principal="alice")).ok
        assert (await gate.execute("result = 1", principal="local")).ok
        assert (await gate.execute("result = 1", principal="eve")).ok
    out, err = capfd.readouterr()
    assert (out + err).count("secret_withheld") == MAX_WITHHELD
    assert STRONG not in out + err


async def test_a_run_that_was_withheld_an_answer_is_over(opened: Any) -> None:
    """A program that goes on, and guesses on, is shown nothing, and asks nothing more."""
    code = f"""
try:
    await weather.echo(text={STRONG!r})
except Exception as error:
    print(error)
found = []
for guess in range(20):
    try:
        await weather.echo(text=str(guess))
        found.append(guess)
    except Exception as error:
        found.append(str(error))
result = found
"""
    async with opened(STRONG) as gate:
        outcome = await gate.execute(code, principal="alice")
    assert (outcome.ok, outcome.error.type) == (False, "SecretWithheld")
    assert outcome.value is None
    assert not outcome.printed
    assert sum(call["count"] for call in outcome.calls if call["ok"]) == 0


@pytest.mark.slow
async def test_runs_at_once_are_counted_together(opened: Any) -> None:
    """Those that were begun before the last of a few answers was withheld are refused as well, whatever they hold."""
    import asyncio

    async with opened(STRONG) as gate:
        slow = [gate.execute(USES + f"import asyncio\nawait asyncio.sleep({seconds})\nresult = {value!r}", principal="alice")
                for value, seconds in [(STRONG, 0.2)] * MAX_WITHHELD + [("innocent", 3)] * 5]  # fmt: skip
        outcomes = await asyncio.gather(*slow)
    assert [outcome.error and outcome.error.type for outcome in outcomes].count("SecretWithheld") == MAX_WITHHELD
    assert not any(outcome.ok for outcome in outcomes[MAX_WITHHELD:])


async def test_a_file_has_a_name_to_guess_with(opened: Any) -> None:
    """Neither the name of a file argument nor that of one in an answer shows a right guess."""
    from doorward import File
    from doorward.calls.answer_checks import read, secrets_in
    from doorward.secrets.store import Secrets

    secrets = Secrets(environ={})
    secrets.remember(STRONG, whose=Owner("weather"))
    redactor = secrets.redactor()
    assert secrets_in({"file": File(b"", "", f"x {STRONG}")}, redactor)
    answer = read(File(b"x", "text/plain", f"{STRONG}.txt"), "f", 1000, redactor)
    assert answer.secrets
    assert answer.files[0][1].name == "[secret].txt"


@pytest.mark.parametrize("shared", [True, False])
async def test_a_day_lifts_the_refusal(shared: bool) -> None:
    """Of this principal, and in all processes."""
    now = [1e9]
    counted = Withholding(MemoryStore(clock=lambda: now[0]) if shared else None, clock=lambda: now[0])
    for _ in range(MAX_WITHHELD):
        await counted.withheld("alice", "what", "weather")
    with pytest.raises(LimitExceeded):
        counted.admit("alice")
    counted.admit("bob")
    now[0] += WITHHELD_SECONDS + 1
    counted.admit("alice")
    await counted.withheld("alice", "what", "weather")
    counted.admit("alice")


async def test_withheld_answers_of_all_processes_count_together() -> None:
    """Each process has withheld fewer than are allowed, and the one that withheld the last refuses the principal."""
    store = MemoryStore()
    processes = [Withholding(store) for _ in range(MAX_WITHHELD)]
    for process in processes:
        process.admit("alice")
        await process.withheld("alice", "what", "weather")
    with pytest.raises(LimitExceeded, match=f"{MAX_WITHHELD} answers"):
        processes[-1].admit("alice")
    processes[-1].admit("bob")


async def test_gateways_of_one_store_count_withheld_answers_together(opened: Any) -> None:
    """Each of them, and one that was opened afterwards, refuses the principal's next run, and no one else's."""
    guess = USES + f"result = {STRONG!r}"
    async with opened(STRONG) as one, opened(STRONG) as two:
        told = [await gate.execute(guess, principal="alice") for gate in (one, two, one)]
        assert [outcome.error.type for outcome in told] == ["SecretWithheld"] * MAX_WITHHELD
        async with opened(STRONG) as new:
            for gate in (one, two, new):
                assert (await gate.execute("result = 1", principal="alice")).error.type == "LimitExceeded"
                assert (await gate.execute("result = 1", principal="eve")).ok


async def test_only_a_withheld_answer_touches_the_store(monkeypatch: pytest.MonkeyPatch) -> None:
    """To admit a call, and to refuse it, reads memory alone."""
    store = MemoryStore()
    one, other = Withholding(store), Withholding(store)
    other.admit("alice")
    for _ in range(MAX_WITHHELD):
        await one.withheld("alice", "what", "weather")
    other.admit("alice")
    await other.look("alice")
    monkeypatch.setattr(MemoryStore, "get", None)
    for counted in (one, other):
        with pytest.raises(LimitExceeded):
            counted.admit("alice")


async def test_what_an_earlier_version_counted_is_taken_over(tmp_path: Path) -> None:
    """Once, whichever process is first; the file stays as it is."""
    now = 1e9
    with contextlib.closing(sqlite3.connect(tmp_path / "usage.db")) as db, db:
        db.execute("CREATE TABLE used (budget TEXT, principal TEXT, unit TEXT, period INTEGER, amount REAL)")
        rows = [("alice", str(second), second, 1) for second in range(int(now) - MAX_WITHHELD, int(now))]
        db.executemany("INSERT INTO used VALUES ('withheld answers', ?, ?, ?, ?)", rows)
        db.execute("INSERT INTO used VALUES ('[limits] rate', 'bob', '1', 1, 5)")
    store = MemoryStore(clock=lambda: now)
    for _ in range(2):
        counted = Withholding(store, tmp_path / "usage.db", clock=lambda: now)
        await counted.look("alice")
        await counted.look("bob")
        with pytest.raises(LimitExceeded, match=f"{MAX_WITHHELD} answers"):
            counted.admit("alice")
        counted.admit("bob")
    assert (tmp_path / "usage.db").exists()


async def test_withheld_answers_are_counted_where_the_store_cannot_be_used() -> None:
    """Each process counts its own then."""
    counted = Withholding(Unusable())
    await counted.look("alice")
    for _ in range(MAX_WITHHELD):
        counted.admit("alice")
        await counted.withheld("alice", "what", "weather")
    with pytest.raises(LimitExceeded):
        counted.admit("alice")


def test_scopes_hold_what_can_have_reached_a_program() -> None:
    """Of the servers that were called, what is everyone's there or the principal's own; never another principal's."""
    from doorward.secrets.store import Secrets

    secrets = Secrets(environ={})
    owners = {
        "token-shared-by-all-1x9": Owner("weather"), "token-of-alice-at-weather": Owner("weather", "alice"),
        "token-of-bob-at-weather-7": Owner("weather", "bob"), "token-of-another-server": Owner("other"),
        "token-that-alice-brings": Owner(principal="alice"), "token-of-nobody-at-all-3": Owner(),
    }  # fmt: skip
    for value, whose in owners.items():
        secrets.remember(value, whose=whose)
    found = secrets.redactor(made_by("alice", frozenset({"weather"})))
    left = [value for value in owners if found.text(value) == value]
    assert left == ["token-of-bob-at-weather-7", "token-of-another-server", "token-of-nobody-at-all-3"]


@pytest.mark.slow
@pytest.mark.parametrize("known", [1, 300])
@pytest.mark.parametrize("length", [8, 60])
def test_a_text_that_nearly_fits_costs_what_any_text_costs(
    monkeypatch: pytest.MonkeyPatch, known: int, length: int
) -> None:
    """Of no form is a letter compared before its first and its last window are there, which are all of it: no time
    tells that some letters are right."""
    secret = tokens.token_urlsafe(length)
    search = Needles([Forms(forms(secret)), *(Forms([tokens.token_bytes(24)]) for _ in range(known))])
    compared: list[bytes] = []
    real = needles_module._digest
    monkeypatch.setattr(needles_module, "_digest", lambda form: compared.append(form) or real(form))
    for form in set(forms(secret)):
        near = [form[:-1], form[1:], b"!" + form[1:], form[:-1] + b"!", form[-16:], form[:16], form[len(form) // 2 :]]
        text = b"~~".join(
            part for part in near * 20 if not any(other in part for other in forms(secret) if len(other) >= 6)
        )
        assert list(search.find(text)) == []
    assert not compared
    assert [match.secret for match in search.find(secret.encode())]
    assert compared


def test_a_flood_of_secrets_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """An API that repeats what it was sent without end costs no gigabytes, and shows nothing."""
    from doorward.secrets import redaction
    from doorward.secrets.redaction import Redactor

    monkeypatch.setattr(redaction, "_MAX_MATCHES", 100)
    redactor = Redactor(Needles([Forms([b"abcdefgh"])]))
    assert redactor.text("abcdefgh" * 50 + "x") == "[secret]" * 50 + "x"
    assert redactor.text("abcdefgh" * 200 + "x") == "[secret]"
    assert redactor.value(["abcdefgh" * 200, 1]) == "[secret]"
    assert redactor.found(b"abcdefgh" * 200) == {0}


@pytest.mark.slow
def test_needles_are_found_across_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """A text is searched in pieces; wherever it is cut, a secret is found once."""
    monkeypatch.setattr(needles_module, "_PIECE_BYTES", 37)
    needles = [b"abcdef", b"ghijklmnop", b"a-needle-of-many-letters"]
    search = Needles([Forms([needle]) for needle in needles])
    for needle in needles:
        for before in range(120):
            text = b"." * before + needle + b"." * 50
            assert [(match.start, match.end) for match in search.find(text)] == [(before, before + len(needle))]


@pytest.mark.slow
def test_threads_that_search_first_at_once_find_the_same() -> None:
    """What one thread remembers another one finds, also where both begin at once in a new process."""
    code = """
import sys, threading
sys.setswitchinterval(1e-6)
from doorward.secrets import needles
found = []
def remember():
    found.append(needles.Forms([b"a-secret-of-many-letters"]))
threads = [threading.Thread(target=remember) for _ in range(8)]
[t.start() for t in threads]
[t.join() for t in threads]
assert all(list(needles.Needles([forms]).find(b"<a-secret-of-many-letters>")) for forms in found)
"""
    for _ in range(3):
        subprocess.run([sys.executable, "-c", code], check=True, timeout=100)
