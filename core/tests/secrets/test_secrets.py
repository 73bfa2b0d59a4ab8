"""Where `${…}` values come from, and that the scrubber finds them again."""

from __future__ import annotations

import base64
import contextlib
import html
import json
import os
import threading
import time
from pathlib import Path
from urllib.parse import quote, quote_plus

import anyio
import pytest
from doorward.config.config import load, validate
from doorward.model.errors import ConfigError, MissingSecret
from doorward.model.settings import Settings
from doorward.secrets.owned import OwnedSecrets
from doorward.secrets.owners import Owner
from doorward.secrets.redaction import REDACTED
from doorward.secrets.scrubber import MAX_FETCHED_VALUES, MIN_SECRET_CHARACTERS
from doorward.secrets.store import Secret, Secrets, Template
from hypothesis import given, settings
from hypothesis import strategies as st

KEY = "s3cr3t/+ k\"e'y&<é>"
VALUES = st.text(st.characters(codec="utf-8"), min_size=MIN_SECRET_CHARACTERS + 4, max_size=40).filter(
    lambda v: len(v.strip()) == len(v)
)


def knowing(*values: str) -> Secrets:
    secrets = Secrets(environ={})
    for value in values:
        secrets.remember(value)
    return secrets


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("Bearer ${TOKEN}", "Bearer abc"),
        ("${TOKEN}${TOKEN}", "abcabc"),
        ("${NONE:-x y}", "x y"),
        ("${NONE:-}", ""),
        ("${EMPTY:-x}", "x"),
        ("${EMPTY}", ""),
        ("$${TOKEN}", "${TOKEN}"),
        ("a $ b {c} $d", "a $ b {c} $d"),
        ("${vault:path/to:key}", "<vault path/to:key>"),
        ('x ${cmd:op read "op://a b/c"} y', 'x <cmd op read "op://a b/c"> y'),
        ("${cmd:docker inspect -f '{{.Id}}' {x}}", "<cmd docker inspect -f '{{.Id}}' {x}>"),
        ("${keyring:a/b:-default}", "<keyring a/b:-default>"),
        ("${cmd:sh -c 'echo $${X:-y}'}", "<cmd sh -c 'echo ${X:-y}'>"),
        ('${NONE:-{"a": {"b": 1}}}', '{"a": {"b": 1}}'),
        ("${vault:x}}", "<vault x>}"),
    ],
)
def test_expand(template: str, expected: str) -> None:
    """CONTRACT: AUT-09: ${VAR}, ${VAR:-default} and ${scheme:name} are resolved from the host; $${ is a plain ${."""
    secrets = Secrets(environ={"TOKEN": "abc", "EMPTY": ""}, resolve=lambda scheme, name: f"<{scheme} {name}>")
    assert secrets.expand(template) == expected


@pytest.mark.parametrize("template", ["${NONE}", "${vault:x}"])
def test_a_missing_value_is_named(template: str) -> None:
    """A reference without a value says which one it is."""
    with pytest.raises(MissingSecret, match=r"\$\{.*\} has no value") as caught:
        Secrets(environ={}, resolve=lambda scheme, name: None).expand(f"Bearer {template}")
    assert template in str(caught.value)


@pytest.mark.parametrize(
    "template",
    [
        "${A-B}",
        "${}",
        "${ A }",
        "pa${ssword",
        "${A:b",
        "${vault:a${A}ssword}",
        "${vault:{a}",
        "${A:-${A}ssword}",
        "${A:-{ssword}",
    ],
)
def test_what_is_no_reference_is_not_sent_as_it_stands(template: str) -> None:
    """A misspelt reference is an error that does not repeat the text, which may be a password."""
    with pytest.raises(MissingSecret) as caught:
        Secrets(environ={"A": "x"}, resolve=lambda scheme, name: "y").expand(template)
    assert "ssword" not in str(caught.value)


def test_a_value_is_not_expanded_again() -> None:
    """A value that looks like a reference stays what it is."""
    assert Secrets(environ={"A": "${B}", "B": "no"}).expand("${A}") == "${B}"


def test_the_real_environment_wins_over_dotenv(tmp_path: Path) -> None:
    """CONTRACT: AUT-13: values come from .env too, and the real environment wins."""
    (tmp_path / ".env").write_text("A=file\nB='file b'\n# C=no\nexport D=${A}\n")
    secrets = Secrets(tmp_path / ".env", environ={"A": "real"})
    assert secrets.expand("${A} ${B} ${C:-none} ${D}") == "real file b none ${A}"


def test_a_rotated_value_is_picked_up(tmp_path: Path) -> None:
    """A changed .env is read again, one that goes away is forgotten; no restart is needed."""
    file = tmp_path / ".env"
    secrets = Secrets(file, environ={})
    for value in ("one", "three", "seventeen"):
        file.write_text(f"TOKEN={value}\n")
        assert secrets.expand("${TOKEN}") == value
    file.unlink()
    assert secrets.expand("${TOKEN:-gone}") == "gone"
    file.write_text("TOKEN=seventeen\n")
    assert secrets.expand("${TOKEN}") == "seventeen"


def test_an_unreadable_dotenv_is_a_configuration_error(tmp_path: Path) -> None:
    """A .env that is no UTF-8 is named in the message."""
    (tmp_path / ".env").write_bytes(b"A=\xff\xfe\n")
    with pytest.raises(ConfigError, match=r"\.env: cannot be read"):
        Secrets(tmp_path / ".env", environ={}).expand("${A}")


def test_values_are_resolved_late() -> None:
    """CONTRACT: AUT-18: reading the configuration resolves no credential; the first use does, and only then it is
    remembered."""

    class Driver(Settings):
        token: Secret
        header: Template

    environ: dict[str, str] = {}
    secrets = Secrets(environ=environ)
    driver = validate(Driver, {"token": "${TOKEN}", "header": "v ${HEADER:-1}"}, secrets=secrets, place="test")
    assert driver.token.missing() == "${TOKEN} has no value"
    environ["TOKEN"] = "longsecret"
    assert secrets.scrub("longsecret") == "longsecret"
    assert driver.token.reveal() == "longsecret"
    assert secrets.scrub("longsecret") == REDACTED
    assert driver.header.reveal() == "v 1"


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("hunter22", "Secret([secret])"),
        ("Bearer ${TOKEN}", "Secret('Bearer ${TOKEN}')"),
        ("${TOKEN:-hunter22}", "Secret('${TOKEN}')"),
    ],
)
def test_repr_of_a_secret(raw: str, shown: str) -> None:
    """A Secret shows its reference, never its value, neither a literal nor a default."""
    secret = Secret(raw, Secrets(environ={"TOKEN": "hunter22"}))
    secret.reveal()
    assert repr(secret) == shown
    assert "hunter22" not in f"{secret} {[secret]}"


def test_a_literal_secret_is_scrubbed() -> None:
    """A credential that stands in the file itself is scrubbed whole once it was used."""
    secrets = Secrets(environ={})
    secret = Secret("hunter22", secrets)
    assert secret.literal
    secret.reveal()
    assert secrets.scrub("pass hunter22!") == f"pass {REDACTED}!"


def test_errors_of_validation_hold_no_secret() -> None:
    """A configuration error never repeats the value that was wrong."""

    class Driver(Settings):
        port: int

    with pytest.raises(ConfigError) as caught:
        validate(Driver, {"port": "${TOKEN}"}, secrets=Secrets(environ={"TOKEN": "hunter22"}), place="test")
    assert "hunter22" not in str(caught.value)


ENCODINGS = {
    "plain": lambda v: v,
    "percent": lambda v: quote(v, safe=""),
    "percent of a path": quote,
    "percent of a form": quote_plus,
    "percent, lower case": lambda v: "".join(f"%{b:02x}" for b in v.encode()),
    "hex": lambda v: v.encode().hex(),
    "HEX": lambda v: v.encode().hex().upper(),
    "JSON": lambda v: json.dumps(v)[1:-1],
    "JSON with raw letters": lambda v: json.dumps(v, ensure_ascii=False)[1:-1],
    "JSON with escaped slashes": lambda v: json.dumps(v)[1:-1].replace("/", "\\/"),
    "JSON in JSON": lambda v: json.dumps(json.dumps({"v": v}))[10:-4],
    "HTML": html.escape,
    "reversed": lambda v: v[::-1],
}


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ENCODINGS)
@given(value=st.one_of(st.just(KEY), VALUES))
def test_a_secret_is_found_in_each_encoding(encoding: str, value: str) -> None:
    """A revealed value is removed however an API echoes it."""
    encoded = ENCODINGS[encoding](value)
    scrubbed = knowing(value).scrub(f"<{encoded}>")
    assert encoded not in scrubbed
    assert REDACTED in scrubbed


@pytest.mark.slow
@given(
    VALUES, st.binary(max_size=7), st.binary(max_size=7), st.sampled_from([base64.b64encode, base64.urlsafe_b64encode])
)
def test_a_secret_is_found_in_base64_at_any_offset(value: str, before: bytes, after: bytes, encode: object) -> None:
    """Inside a longer base64 text no more than the edges of a revealed value are left."""
    text = encode(before + value.encode() + after).decode()  # type: ignore[operator]
    scrubbed = knowing(value).scrub(text)
    assert REDACTED in scrubbed
    left = scrubbed.replace(REDACTED, "")
    assert len(left) <= len(base64.b64encode(before)) + len(base64.b64encode(after)) + 4


@pytest.mark.slow
@given(st.text(max_size=60))
def test_short_values_are_not_scrubbed(text: str) -> None:
    """A value of few characters stays: removing it would ruin ordinary answers."""
    assert knowing("test", "1", "").scrub(text) == text


def test_the_longer_of_two_secrets_goes_whole() -> None:
    """A secret that begins another one does not save the other one's end."""
    assert knowing("password", "password-2").scrub("x password-2 y") == f"x {REDACTED} y"


def test_a_value_with_a_line_end_is_found_without_it() -> None:
    """A token read from a file with its line end is found where it was sent without it."""
    assert knowing("long-token\n").scrub("long-token,") == f"{REDACTED},"


def test_scrub_value_looks_everywhere() -> None:
    """Keys, nested values and bytes are scrubbed; everything else is the same."""
    secrets = knowing("long-token")
    value = {"a long-token": [{"x": "long-token"}, 1, None, True], "n": 1.5}
    assert secrets.scrub_value(value) == {f"a {REDACTED}": [{"x": REDACTED}, 1, None, True], "n": 1.5}
    assert secrets.scrub_value(b"\xfflong-token") == b"\xff" + REDACTED.encode()
    assert secrets.redactor().value(value, json.dumps(value).encode()) == secrets.scrub_value(value)


def test_scrub_value_saves_the_walk_when_clean() -> None:
    """A value whose JSON holds no secret is returned as it is, not copied."""
    value = {"a": ["clean"]}
    assert knowing("long-token").redactor().value(value, json.dumps(value).encode()) is value


@pytest.mark.slow
@given(VALUES)
def test_dumped_json_tells_of_every_secret(value: str) -> None:
    """The shortcut over a value's JSON misses no value, whether or not the JSON escapes letters."""
    secrets = knowing(value)
    for ensure_ascii in (True, False):
        data = {"k": f"<{value}>"}
        assert value not in secrets.redactor().value(data, json.dumps(data, ensure_ascii=ensure_ascii).encode())["k"]


def test_environment_that_is_no_utf8() -> None:
    """A variable with stray bytes is remembered and scrubbed like any other."""
    odd = os.fsdecode(b"token-\xff-token")
    secrets = Secrets(environ={"T": odd})
    assert secrets.expand("${T}", remember=True) == odd
    assert secrets.scrub(f"<{odd}>") == f"<{REDACTED}>"
    assert secrets.scrub_value(b"clean") == b"clean"


# References


PIECES = st.sampled_from(
    ["a", "op", " ", ":-", ":", "/", '"', "'", "\\", "\n", "\0", "é", "$", "-", "{b}", "{}", "{{.Id}}", "{ {x} {} }"]
)


@pytest.mark.slow
@given(
    st.lists(PIECES, min_size=1, max_size=8).map("".join).filter(lambda name: name[0] != "-" and "${" not in name),
    PIECES,
)
def test_a_reference_ends_where_its_braces_do(name: str, after: str) -> None:
    """Whatever stands in a reference in pairs of braces, blanks, quotes and colons included, is handed over as it is
    written."""
    asked = []
    secrets = Secrets(environ={}, resolve=lambda scheme, name: asked.append((scheme, name)) or "value")
    assert secrets.expand(f"a ${{a_scheme:{name}}}{after}") == f"a value{after}"
    assert asked == [("a_scheme", name)]


@pytest.mark.slow
@given(st.text("${}:-ab_ \n", max_size=40))
def test_any_text_is_a_template_or_refused(text: str) -> None:
    """No text makes anything else than a value or the one error, and what is written with `$$` comes back plain."""
    secrets = Secrets(environ={"a": "1"}, resolve=lambda scheme, name: "2")
    with contextlib.suppress(MissingSecret):
        secrets.expand(text)
    assert secrets.expand(text.replace("$", "").replace("{", "$${")) == text.replace("$", "").replace("{", "${")


@pytest.mark.slow
def test_a_long_text_is_read_quickly() -> None:
    """Braces that do not match cost no more than the length of the text, thrice."""
    began = time.process_time()
    for text in (
        "${a:" * 20_000,
        "${a:" + "{" * 100_000,
        "${a:" + "{a" * 30_000 + "}" * 30_000,
        "${a:-" + "{}" * 50_000,
    ):
        with pytest.raises(MissingSecret):
            Secrets(environ={}).expand(text)
    assert time.process_time() - began < 5


# Files


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "token").write_text("value-of-the-file\r\n\n")
    return tmp_path


def test_a_file_holds_a_value(folder: Path) -> None:
    """CONTRACT: AUT-09, AUT-15: a path is relative to the configuration or absolute; line ends behind the value do not
    count."""
    secrets = Secrets(folder=folder, environ={})
    for path in ("run/token", folder / "run" / "token", f"{folder}/run/../run/token"):
        assert secrets.expand(f"<${{file:{path}}}>") == "<value-of-the-file>"
    assert secrets.scrub("a value-of-the-file") == f"a {REDACTED}"
    (folder / "doorward.toml").write_text('log_level = "${file:level}"\nvault_key = "${file:run/token}"')
    (folder / "level").write_text("debug\n")
    loaded = load(folder / "doorward.toml", environ={})
    assert loaded.config.log_level == "debug"
    assert loaded.config.vault_key is not None
    assert loaded.config.vault_key.reveal() == "value-of-the-file"


def test_a_file_that_changes(folder: Path) -> None:
    """It is read again, also where a link is turned to another file, as Kubernetes does; what it held before is still
    scrubbed."""
    secrets = Secrets(folder=folder, environ={})
    for number in range(3):
        (folder / f"version-{number}").write_text(f"value-number-{number}")
        (folder / "new").symlink_to(folder / f"version-{number}")
        (folder / "new").replace(folder / "link")
        assert secrets.expand("${file:link}") == f"value-number-{number}"
    assert secrets.scrub("value-number-0 value-number-1") == f"{REDACTED} {REDACTED}"
    (folder / "run/token").write_text("")
    assert secrets.expand("${file:run/token}") == ""


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (None, "No such file"),
        (b"s3cr3t-" * 10_000, "more than 64 KiB"),
        (b"s3cr3t-\xff", "no text in UTF-8"),
    ],
)
def test_a_file_that_cannot_be_used(folder: Path, content: bytes | None, why: str) -> None:
    """The file and the reason are told, nothing that it holds."""
    if content is not None:
        (folder / "it").write_bytes(content)
    with pytest.raises(MissingSecret, match=why) as caught:
        Secrets(folder=folder, environ={}).expand("${file:it}")
    assert str(folder / "it") in (caught.value.hint or "")
    assert "s3cr3t" not in f"{caught.value}{caught.value.hint}"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_file_that_is_none(folder: Path) -> None:
    """A pipe would keep everybody waiting; a folder holds no value."""
    os.mkfifo(folder / "pipe")
    for name in ("pipe", "run"):
        with pytest.raises(MissingSecret, match="not a regular file"):
            Secrets(folder=folder, environ={}).expand(f"${{file:{name}}}")


# What takes time


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.mark.slow
@pytest.mark.anyio
async def test_a_slow_value_keeps_nobody_else_waiting() -> None:
    """It is fetched in a thread, once for all who ask at the same time; the event loop turns meanwhile."""
    asked = []

    enough = threading.Event()

    def resolve(scheme: str, name: str) -> str:
        asked.append(name)
        enough.wait(60)
        return f"value-of-{name}"

    secrets = Secrets(environ={}, resolve=resolve)
    got: list[str] = []
    turns = 0

    async def ask() -> None:
        got.append(await Secret("Bearer ${vault:a}", secrets).get())

    async with anyio.create_task_group() as tasks:
        for _ in range(100):
            tasks.start_soon(ask)
        while len(got) < 100:
            turns += 1
            if turns == 6:
                enough.set()
            await anyio.sleep(0.01)
    assert set(got) == {"Bearer value-of-a"}
    assert asked == ["a"]
    assert turns >= 6
    assert secrets.scrub("value-of-a") == REDACTED
    assert await Template("${vault:b}", secrets).get() == "value-of-b"
    assert secrets._fetching == {}


@pytest.mark.slow
@pytest.mark.anyio
async def test_who_waits_for_a_slow_value_may_leave() -> None:
    """The others get it all the same; an error is everybody's own."""
    go = threading.Event()

    def resolve(scheme: str, name: str) -> str:
        go.wait(60)
        if name == "bad":
            raise ConfigError("it is sealed", hint="Unseal it.")
        return "the-value"

    secrets = Secrets(environ={}, resolve=resolve)
    with anyio.move_on_after(0.05) as left:
        await Template("${vault:good}", secrets).get()
    assert left.cancelled_caught
    errors: list[ConfigError] = []

    async def ask() -> None:
        try:
            await Template("${vault:bad}", secrets).get()
        except ConfigError as error:
            errors.append(error)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(ask)
        tasks.start_soon(ask)
        await anyio.sleep(0.05)
        go.set()
        assert await Template("${vault:good}", secrets).get() == "the-value"
    assert [(error.message, error.hint) for error in errors] == [("it is sealed", "Unseal it.")] * 2
    assert errors[0] is not errors[1]


@pytest.mark.anyio
async def test_a_principals_own_value_may_take_time_and_their_name_is_no_secret() -> None:
    """`${principal:KEY}` may itself be fetched; each principal's values are remembered on their own."""
    secrets = Secrets(environ={}, resolve=lambda scheme, name: f"value-of-{name}")
    names = [f"person-{number}" for number in range(MAX_FETCHED_VALUES + 5)]
    for name in names:
        own = OwnedSecrets(
            secrets, Owner("own", name), {"name": name, "token": Secret(f"${{vault:{name}}}", secrets)}.get
        )
        assert await Template("${principal:name} ${principal:token}", own).get() == f"{name} value-of-{name}"
        assert Template("${principal:token}", own).reveal() == f"value-of-{name}"
    assert secrets.scrub(" ".join(names)) == " ".join(names)
    assert all(secrets.scrub(f"value-of-{name}") == REDACTED for name in names)


@pytest.mark.slow
@pytest.mark.anyio
async def test_values_that_were_rotated_away() -> None:
    """The latest are scrubbed, those of long ago are not: they would cost time for ever."""
    values = iter(range(10_000, 10_000 + 3 * MAX_FETCHED_VALUES))
    secrets = Secrets(environ={}, resolve=lambda scheme, name: f"token-{next(values)}")
    got = [await Template("${cmd:token}", secrets).get() for _ in range(3 * MAX_FETCHED_VALUES)]
    assert all(secrets.scrub(value) == REDACTED for value in got[-MAX_FETCHED_VALUES:])
    assert secrets.scrub(got[0]) == got[0]
    assert got[0] not in repr(vars(secrets))


# Many secrets at once

OTHERS = knowing(*(f"another-secret-{number}" for number in range(40)))


def many_knowing(*values: str) -> Secrets:
    """One that knows forty others as well, whose forms are worked out once."""
    secrets = knowing(*values)
    secrets._known.update(OTHERS._known)
    return secrets


@pytest.mark.slow
@settings(deadline=None)
@given(
    st.lists(VALUES, min_size=1, max_size=3),
    st.lists(st.text(max_size=8), min_size=4, max_size=4),
    st.sampled_from(sorted(ENCODINGS)),
)
def test_many_needles_are_found_as_few_are(values: list[str], between: list[str], encoding: str) -> None:
    """One pass for all needles leaves nothing that one for each would take, in text and in bytes."""
    text = "".join(f"{b}{ENCODINGS[encoding](v)}" for b, v in zip(between, values, strict=False)) + between[-1]
    many = many_knowing(*values)
    for scrubbed in (
        many.scrub(text),
        many.scrub_value(text.encode()).decode(),
        many.scrub_value({text: [text]}).popitem()[0],
    ):
        assert REDACTED in scrubbed
        assert not any(ENCODINGS[encoding](value) in scrubbed for value in values)
    dumped = json.dumps([text]).encode()
    assert many.redactor().value([text], dumped) != [text]


@pytest.mark.slow
@settings(deadline=None)
@given(st.text(max_size=60))
def test_many_needles_leave_the_rest_alone(text: str) -> None:
    """What holds no secret stays as it is, half surrogate pairs included."""
    many = many_knowing()
    assert many.scrub(text) == text
    assert many.scrub(f"{text}another-secret-7{text}\ud800") == f"{text}{REDACTED}{text}\ud800"
    assert many.scrub_value(text.encode()) == text.encode()
    assert many.redactor().value([text, 5], json.dumps([text, 5]).encode()) == [text, 5]


def test_secrets_that_overlap_go_whole() -> None:
    """Where two stand in one another, nothing of either is left."""
    many = many_knowing("abcdefgh", "efghijkl")
    assert many.scrub("<abcdefghijkl>") == f"<{REDACTED}>"


@pytest.mark.slow
def test_many_long_tokens_cost_little() -> None:
    """Each principal may have tokens of their own, of some thousands of characters: what looks for them stays small."""
    secrets = knowing()
    tokens = [f"{number:03}{'long-token.' * 400}{number:03}" for number in range(20)]
    for token in tokens:
        secrets.remember(token)
    assert secrets.scrub(f"a {tokens[7]} b {tokens[7][3:]} c") == f"a {REDACTED} b {tokens[7][3:]} c"
    kept = [
        digest
        for known in secrets._known.values()
        for marks in known.forms.by_window.values()
        for digest in marks.digests
    ]
    assert max(map(len, kept)) < 20


class Headers(Settings):
    headers: dict[str, Template]


@pytest.mark.parametrize(
    ("name", "value", "hidden"),
    [
        ("Authorization", "Bearer wq8-plain-token", ["wq8-plain-token"]),
        ("authorization", "Basic YW5uOnB3LW9mLWFubg==", ["YW5uOnB3LW9mLWFubg==", "pw-of-ann"]),
        ("X-Api-Key", "correct-horse", ["correct-horse"]),
        ("X-Pass", "b4ttery!", ["b4ttery!"]),
        ("Cookie", "theme=darkest; sid=0b7c-44e1", ["0b7c-44e1"]),
        ("X-Custom", "ghp_" + "a1B2" * 9, ["ghp_" + "a1B2" * 9]),
        ("X-Custom", "8f14e45fceea167a5a36dedd4bea2543", ["8f14e45fceea167a5a36dedd4bea2543"]),
        ("X-Link", "https://ann:pw-in-a-url@example.com/?token=t0-in-a-query", ["pw-in-a-url", "t0-in-a-query"]),
        ("X-Api-Key", "${NOTHING:-a-default-one}", ["a-default-one"]),
    ],
)
@pytest.mark.anyio
async def test_a_literal_credential_is_scrubbed(name: str, value: str, hidden: list[str]) -> None:
    """It stands in the file where a reference should; from its first use on it is known, also alone."""
    secrets = Secrets(environ={})
    header = validate(Headers, {"headers": {name: value}}, secrets=secrets, place="x").headers[name]
    assert all(each in secrets.scrub(each) for each in hidden), "nothing is known before it is used"
    assert await header.get()
    for each in hidden:
        assert each not in secrets.scrub(f"you sent {each} to us")
        assert each not in secrets.scrub(f"you sent {quote(each)}, {base64.b64encode(each.encode()).decode()}")
    assert header.reveal()
    assert secrets.scrub("the darkest theme") == "the darkest theme"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("Accept", "application/json"),
        ("X-Keyspace", "production"),
        ("X-Author", "Ann of Green Gables"),
        ("X-GitHub-Api-Version", "2022-11-28"),
        ("X-Auth-Type", "oauth"),
        ("User-Agent", "doorward/0.1.0 (https://example.com/about)"),
        ("LOG", "warning"),
    ],
)
def test_an_ordinary_literal_is_not(name: str, value: str) -> None:
    secrets = Secrets(environ={})
    validate(Headers, {"headers": {name: value}}, secrets=secrets, place="x").headers[name].reveal()
    assert secrets.scrub(f"it is {value} here") == f"it is {value} here"
