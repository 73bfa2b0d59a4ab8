"""A canary in the place of each credential, hostile programs and an API that echoes it: it must come out nowhere."""

from __future__ import annotations

import base64
import json
import re
import secrets
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from .api import FORMS, PLACES
from .forked import Forked
from .product import Agent, Answering, Api, Project, connected, web

pytestmark = [pytest.mark.slow, pytest.mark.anyio]

AUTHS = {
    "fixed": 'auth = { type = "static", header = "X-Static", value = "Key ${%s}" }',
    "bearer": 'auth = { type = "jwt", token = "${%s}" }',
    "basic": 'auth = { type = "basic", username = "user", password = "${%s}" }',
    "header": 'auth = { type = "api_key", name = "X-Api-Key", value = "${%s}" }',
    "query": 'auth = { type = "api_key", in = "query", name = "key", value = "${%s}" }',
    "cookie": 'auth = { type = "api_key", in = "cookie", name = "sid", value = "${%s}" }',
    "extra": 'headers = { X-Extra = "${%s}" }',
}
SERVERS = [f"{auth}_{place}" for place in ("env", "file") for auth in AUTHS]
EACH = [f"{auth}_{('env', 'file')[n % 2]}" for n, auth in enumerate(AUTHS)]
"""One of each kind, from both places."""

ODD = {"cookie": "/+&=%<~'"}
"""What makes a canary hard to disguise and to find; a cookie may hold less."""


def canaries() -> dict[str, str]:
    """A canary for each server. Those of no two have anything in common."""
    return {
        server: f"{secrets.token_urlsafe(9)}{ODD.get(server.partition('_')[0], '/+&=%<~!? :')}{secrets.token_hex(6)}"
        for server in SERVERS
    }


def disguises(text: str) -> set[bytes]:
    """What a canary looks like in each encoding; worked out here, not by the product's scrubber. Base64 without its
    edges, which depend on what stands beside the canary."""
    raw = text.encode()
    found = {raw, raw[::-1], raw.hex().encode(), raw.hex().upper().encode()}
    for safe in ("", "/", "/+", "~!/:?&=+"):
        encoded = quote(text, safe=safe)
        found |= {encoded.encode(), encoded.lower().encode(), encoded.replace("%20", "+").encode()}
    found |= {"".join(f"%{b:02{kind}}" for b in raw).encode() for kind in "xX"}
    found |= {
        json.dumps(text)[1:-1].encode(),
        json.dumps(json.dumps(text))[3:-3].encode(),
        text.replace("/", "\\/").encode(),
    }
    for before in ("", "x", "xy", "user:", "1user:", "12user:"):
        whole = base64.b64encode(f"{before}{text}".encode())
        first = -(-len(before) // 3) * 4
        middle = whole[first : len(whole) // 4 * 4 - 4]
        found |= {middle, middle.translate(bytes.maketrans(b"+/", b"-_")), middle.replace(b"/", b"\\/"), middle[::-1]}
    # Half of it would do: an edge of 9 random bytes is as much as all.
    found |= {text[:12].encode(), text[-12:].encode()}
    return {needle for needle in found if len(needle) >= 10}


def leaks(canaries: dict[str, str], places: dict[str, bytes]) -> list[str]:
    """Where a canary came out."""
    found = []
    # Megabytes that only pad an answer are not searched a thousand times.
    places = {place: re.sub(b"x{2000,}", b"x" * 2000, content) for place, content in places.items()}
    for server, canary in canaries.items():
        needles = disguises(canary)
        found += [
            f"{server} in {place}: {needle!r}"
            for place, content in places.items()
            for needle in needles
            if needle in content
        ]
    return found


def configuration(api: Api) -> str:
    servers = []
    for server in SERVERS:
        auth = AUTHS[server.partition("_")[0]] % f"CANARY_{server.upper()}"
        servers.append(f'[servers.{server}]\nsource = "openapi"\nspec = "{api.url}/openapi.json"\n{auth}\n')
    return 'log_level = "debug"\n[limits]\nrate = 100000\n' + "".join(servers)


def project(folder: Path, api: Api, canaries: dict[str, str]) -> Project:
    """Half of the canaries in the environment, half of them in `.env`."""
    variables = {f"CANARY_{server.upper()}": canary for server, canary in canaries.items()}
    env = {name: value for name, value in variables.items() if name.endswith("_ENV")}
    made = Forked(folder, configuration(api), {**env, "DOORWARD_DEBUG": "1"})
    text = "".join(f'{name}="{value}"\n' for name, value in variables.items() if name.endswith("_FILE"))
    (folder / ".env").write_text(text)
    return made


ECHO = f"""\
import SERVER
import doorward
forms = {list(FORMS)!r}
places = {PLACES!r}
seen = []
for form in forms:
    for place in places:
        try:
            if "header" in place or place == "location":
                got = doorward.reply(SERVER.echo, form=form, place=place)
            else:
                got = SERVER.echo(form=form, place=place)
            seen.append(got)
            print(form, place, got)
        except Exception as error:
            seen.append(str(error))
            seen.append(repr(error))
            print(form, place, error)
result = seen
"""
HUGE = """\
import SERVER
told = SERVER.echo(form="plain", place="body", pad=2_500_000)["told"]
result = [len(text) for text in told] + [text.lstrip("x") for text in told]
"""
EDGE = """\
import SERVER
def told(place, pad):
    try:
        return SERVER.echo(form="plain", place=place, pad=pad)
    except Exception as error:
        return str(error)
starts = [80, 180, 480, 980, 1980, 3980, 7980]
result = [told(place, start - pad) for place in ["error", "problem"] for start in starts for pad in range(0, 60, 6)]
"""
RAISE = 'import SERVER\nname = "a"\nSERVER.echo(form="FORM", place="PLACE")'
THEFT = """\
import os
import sys
from pathlib import Path
import doorward
import SERVER

def attempt(way):
    try:
        return str(way())
    except BaseException as error:
        return type(error).__name__ + ": " + str(error)

result = [
    attempt(lambda: os.environ),
    attempt(lambda: os.getenv("CANARY_" + "SERVER".upper())),
    attempt(lambda: open("/proc/self/environ").read()),
    attempt(lambda: Path("/proc/" + str(os.getppid()) + "/environ").read_text()),
    attempt(lambda: Path("FOLDER/.env").read_text()),
    attempt(lambda: open("FOLDER/.env").read()),
    attempt(lambda: sys.modules),
    attempt(lambda: getattr(SERVER, "__di" + "ct__")),
    attempt(lambda: getattr(SERVER.echo, "__glo" + "bals__")),
    attempt(lambda: getattr(SERVER.echo, "__clo" + "sure__")),
    attempt(lambda: getattr(getattr((), "__cl" + "ass__"), "__subcl" + "asses__")()),
    attempt(lambda: getattr(doorward, "secrets")),
    attempt(lambda: doorward.call("doorward.secrets", {})),
    attempt(lambda: doorward.call("SERVER.echo", {"form": "${CANARY_}", "place": "$${x}"})),
    attempt(lambda: doorward.call("SERVER.echo", {"form": "plain", "place": "body", "_auth": True})),
    attempt(lambda: doorward.call("SERVER.__init__", {})),
    attempt(lambda: doorward.call("SERVER._auth", {})),
    attempt(lambda: doorward.describe("SERVER.echo")),
    attempt(lambda: doorward.search("auth credential token key", server="SERVER")),
    attempt(lambda: doorward.servers()),
    attempt(lambda: doorward.capabilities()),
    attempt(lambda: SERVER),
    attempt(lambda: SERVER.echo),
    attempt(lambda: SERVER.away()),
    attempt(lambda: SERVER.away(code=307)),
    attempt(lambda: SERVER.drop()),
    attempt(lambda: SERVER.status(code=401)),
    attempt(lambda: SERVER.echo(form=1, place={})),
]
print(result)
"""


async def steal(agent: Agent, folder: Path, servers: list[str], others: list[str] | None = None) -> None:
    """All that an agent may try; with `others`, whose credentials are used as those of the first ones are, only to have
    them echoed as they are, everywhere."""
    for server in others or ():
        answer = await agent.run(ECHO.replace("SERVER", server).replace("forms = ", "forms = ['plain'] or "))
        assert answer["ok"], answer
    for server in servers:
        for program in (ECHO, THEFT):
            answer = await agent.run(
                program.replace("SERVER", server).replace("FOLDER", str(folder)), description=f"from {server}"
            )
            assert answer["ok"], answer
    await agent.run(EDGE.replace("SERVER", servers[3]))  # what is cut must not be cut in the middle of a canary
    for form, place in [(form, "error") for form in FORMS] + [("plain", place) for place in PLACES]:
        answer = await agent.run(RAISE.replace("SERVER", servers[0]).replace("FORM", form).replace("PLACE", place))
        if answer["ok"]:
            await agent.call("run_cached_code", cache_id=answer["cache_id"], params={"name": "b"})
            for artefact in answer.get("artefacts", ()):
                agent.received.append((await agent.client.read_resource(artefact["uri"])).model_dump_json())
    big = await agent.run(f"import {servers[1]} as s\nresult = [s.echo(form='plain', place='body')] * 600")
    uri = big["truncated"]["rest"]
    while uri:  # a canary must not be cut in two by a page either
        page = (await agent.client.read_resource(uri)).contents[0]
        agent.received.append(page.model_dump_json())
        assert "secret" in page.text
        uri = (page.meta or {}).get("doorward/next", "")
    session = (
        await agent.run(f"import {servers[2]} as s\nkept = s.echo(form='base64', place='body')", session_id="new")
    )["session_id"]
    await agent.run("kept", session_id=session)
    await agent.run("raise ValueError(kept)", session_id=session)
    await agent.run("import os\nos.environ['CANARY_FIXED_ENV']")
    await agent.run("${CANARY_FIXED_ENV}")
    await agent.run("'${CANARY_FIXED_ENV}'", description="${CANARY_FIXED_ENV}", params={"a": "${CANARY_FIXED_ENV}"})
    for name, arguments in [
        ("list_servers", {}),
        ("search_functions", {"query": "${CANARY_FIXED_ENV} credential"}),
        ("get_functions", {"functions": [f"{server}.echo" for server in servers[:5]]}),
        ("run_cached_code", {"cache_id": "${CANARY_FIXED_ENV}"}),
    ]:
        await agent.call(name, **arguments)
    listed = [await agent.client.list_tools(), await agent.client.list_resources(), await agent.client.list_prompts()]
    listed.append(await agent.client.read_resource("doorward://capabilities"))
    listed.append(await agent.client.get_prompt("reusable_code_guide"))
    agent.received += [one.model_dump_json() for one in listed] + [agent.client.instructions or ""]


def written(project: Project, agent: Agent) -> dict[str, bytes]:
    """All that came out: answers, what went over the wire, standard error, and every file that was written. `.env`
    excepted."""
    places = {f"answer {n}": text.encode() for n, text in enumerate(agent.received)}
    files = [file for file in project.folder.rglob("*") if file.is_file() and file.name != ".env"]
    return places | {str(file.relative_to(project.folder)): file.read_bytes() for file in files}


def carries(request: dict[str, Any], canary: str) -> bool:
    """Whether the API got the canary with a request, in whatever form."""
    return any(canary in told or quote(canary, safe="") in told for told in request["credentials"])


def received(api: Api, canary: str) -> list[int]:
    """At which origins the API got the canary."""
    return [one["origin"] for one in api.seen() if carries(one, canary)]


@pytest.fixture(scope="module")
def own_api() -> Iterator[Api]:
    """An API whose memory holds nothing but what happens here."""
    with Api() as api:
        yield api


def check(api: Api, known: dict[str, str], places: dict[str, bytes]) -> None:
    """Every canary reached the API, with calls of its own server alone, and nobody else."""
    assert {server: set(received(api, canary)) for server, canary in known.items()} == {server: {0} for server in known}
    assert max(sum(carries(one, canary) for canary in known.values()) for one in api.seen()) == 1
    assert leaks(known, places) == []


async def test_no_credential_comes_out_over_stdio(own_api: Api, tmp_path: Path) -> None:
    """Not in an answer, on the wire, standard error at level debug, the audit log, catalog.db or store.db, in any
    encoding; and a redirect takes it nowhere. CONTRACT: AUT-02, AUT-03, AUT-04, AUT-09, AUT-12, AUT-13, AUT-15, AUT-17,
    SRC-08, OBS-01."""
    known = canaries()
    place = project(tmp_path, own_api, known)
    wire = ["sh", "-c", f"{shlex.join(place.command('serve'))} | tee wire"]
    async with place.stdio(command=wire) as agent:
        await steal(agent, tmp_path, EACH, [server for server in SERVERS if server not in EACH])
        for server, form in (
            ("fixed_env", "plain"),
            ("query_env", "plain"),
            ("cookie_file", "plain"),
            ("bearer_file", "base64"),
        ):
            answer = await agent.value(HUGE.replace("SERVER", server).replace("plain", form))
            assert answer[0] > 2_500_000
            assert "[secret]" in answer[-1]
    places = written(place, agent)
    assert {
        "wire",
        "stderr",
        "state/catalog.db",
        "state/store.db",
        "state/doorward.audit.jsonl",
        "doorward.toml",
    } <= set(places)
    assert b"[secret]" in places["wire"]
    assert b"debug" in places["stderr"]
    check(own_api, known, places)


async def test_no_credential_comes_out_over_http(own_api: Api, tmp_path: Path) -> None:
    """The same by streamable HTTP, the files read while `serve` still runs. CONTRACT: AUT-12, AUT-17, CLI-02."""
    over_http = ("basic_env", "basic_file", "query_env", "cookie_file")
    known = {server: canary for server, canary in canaries().items() if server in over_http}
    place = project(tmp_path, own_api, known)
    with place.http() as (url, _):
        async with connected(url) as agent:
            await steal(agent, tmp_path, list(known))
            places = written(place, agent)
            assert "state/store.db-wal" in places
            check(own_api, known, places)


def test_compile_needs_no_secret(own_api: Api, tmp_path: Path) -> None:
    """Compiling works without any of the variables, which are needed when a call is made; then the message names the
    variable.
    CONTRACT: AUT-18, AUT-09."""
    place = Forked(tmp_path, configuration(own_api))
    compiled = place.run("compile", "--json")
    assert compiled.returncode == 0, compiled
    assert {server["functions"] for server in json.loads(compiled.stdout)["servers"].values()} == {12}
    called = place.run("call", "header_env.get_item", "id=1")
    assert called.returncode != 0
    assert "CANARY_HEADER_ENV" in called.stderr
    assert "Traceback" not in called.stderr


def test_nothing_that_is_compiled_holds_a_secret(own_api: Api, tmp_path: Path) -> None:
    """A document whose texts repeat the credentials that it was asked for with, and those of the configuration: neither
    the state folder nor what is shown of its functions has them. CONTRACT: SRC-08."""
    given, literal = (f"{name}-{secrets.token_hex(12)}" for name in ("given", "literal"))
    document = own_api.get("/openapi.json")
    document["info"]["description"] = f"Use {given}."
    get = document["paths"]["/items/{id}"]["get"]
    get["summary"] = f"One item, for {given} or {literal}"
    get["parameters"][0] |= {"description": f"as {given}", "example": literal}
    document["components"]["schemas"]["Item"]["properties"]["id"]["description"] = f"of {literal}"

    class Documented(Answering):
        """Tells the document to whoever has the token."""

        def do_GET(self) -> None:
            known = self.headers["Authorization"] == f"Bearer {given}"
            self.answer(*((document,) if known else ({"message": "who are you?"}, 401)))

    with web(Documented) as url:
        auth = (
            f'{{ type = "bearer", token = "${{GIVEN}}" }}, {{ type = "api_key", name = "X-Key", value = "{literal}" }}'
        )
        config = f'[servers.one]\nsource = "openapi"\nspec = "{url}/openapi.json"\nauth = [{auth}]\n'
        place = Forked(tmp_path, config, {"GIVEN": given})
        compiled = place.run("compile")
    assert compiled.returncode == 0, compiled
    told = "One item, for [secret] or [secret]"
    shown = place.run("show", "one.get_item").stdout + place.run("list", "one").stdout
    assert told in shown
    kept = {str(file): file.read_bytes() for file in place.state.rglob("*") if file.is_file()}
    assert any(told.encode() in content for content in kept.values())
    assert leaks({"given": given, "literal": literal}, {**kept, "shown": shown.encode()}) == []


def test_no_credential_comes_out_of_the_command_line(own_api: Api, tmp_path: Path) -> None:
    """Nor in what `call`, `run`, `show`, `list` and `doctor` print, in debug mode. CONTRACT: AUT-12."""
    known = canaries()
    place = project(tmp_path, own_api, known)
    (tmp_path / "echo.py").write_text(ECHO.replace("SERVER", SERVERS[0]))
    commands = [
        ["compile", "--force"],
        ["list", "basic_env"],
        ["show", "basic_env.echo"],
        ["doctor"],
        ["run", str(tmp_path / "echo.py")],
    ]
    commands += [
        ["call", f"{server}.echo", "form=plain", f"place={at}"]
        for server, at in zip(SERVERS, ("body", "error") * 7, strict=True)
    ][:4]
    commands += [["call", "basic_file.echo", "form=base64", "place=problem", "--json"], ["call", "query_file.away"]]
    for words in commands:
        ran = place.run(*words)
        assert leaks(known, {f"{words}": f"{ran.stdout}{ran.stderr}".encode()}) == []
    assert leaks(known, {str(f): f.read_bytes() for f in place.state.rglob("*") if f.is_file()}) == []


async def test_the_environment_wins_and_rotation_is_seen(own_api: Api, tmp_path: Path) -> None:
    """A variable of the real environment wins over `.env`, `--env-file` names another file, a changed file is read
    again, and what was rotated away stays hidden. CONTRACT: AUT-09, AUT-13, CLI-03."""
    old, new, real = (f"{name}-{secrets.token_hex(12)}" for name in ("old", "new", "real"))
    config = "[limits]\nrate = 1000\n"
    for name in ("one", "two"):
        config += f'[servers.{name}]\nsource = "openapi"\nspec = "{own_api.url}/openapi.json"\n'
        config += f'auth = {{ type = "api_key", name = "X-Api-Key", value = "${{{name.upper()}}}" }}\n'
    place = Forked(tmp_path, config, {"TWO": real})
    other = tmp_path / "other.env"
    other.write_text(f"ONE={old}\nTWO={old}\n")
    (tmp_path / ".env").write_text("ONE=wrong-file\nTWO=wrong-file\n")
    async with place.stdio(command=[*place.command("serve"), "--env-file", str(other)]) as agent:
        call = "import one, two\nresult = [one.echo(form='plain', place='body'), two.echo(form='plain', place='body')]"
        await agent.value(call)
        other.write_text(f"ONE={new}\nTWO={new}\n")
        await agent.value(call)
        assert leaks({"old": old, "new": new, "real": real}, {"answers": "".join(agent.received).encode()}) == []
    sent = [told for one in own_api.seen() for told in one["credentials"]]
    assert [sent.count(secret) for secret in (old, new, real)] == [1, 1, 2]  # calls alone: the document is everybody's
    assert "wrong-file" not in sent


@pytest.mark.parametrize("form", [*FORMS])
def test_the_search_would_find_a_canary(form: str) -> None:
    """What the tests above rely on: each disguise is recognised, and nothing else."""
    known: dict[str, Any] = canaries()
    for server, canary in known.items():
        assert leaks(
            {server: canary}, {"it": FORMS[form](canary).encode()} if form != "html" else {"it": canary[:20].encode()}
        )
        assert not leaks({server: canary}, {"it": FORMS[form](canaries()[server]).encode()})
