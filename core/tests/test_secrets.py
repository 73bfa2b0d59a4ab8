"""Where `${…}` values come from, and that the scrubber finds them again."""

from __future__ import annotations

import base64
import html
import json
import os
from pathlib import Path
from urllib.parse import quote, quote_plus

import pytest
from doorward.config import validate
from doorward.errors import ConfigError, MissingSecret
from doorward.scrubber import REDACTED, SHORTEST
from doorward.secrets import Secret, Secrets, Template
from doorward.settings import Settings
from hypothesis import given
from hypothesis import strategies as st

KEY = "s3cr3t/+ k\"e'y&<é>"
VALUES = st.text(st.characters(codec="utf-8"), min_size=SHORTEST + 4, max_size=40).filter(lambda v: len(v.strip()) == len(v))


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
        Secrets(environ={}).expand(f"Bearer {template}")
    assert template in str(caught.value)


@pytest.mark.parametrize("template", ["${A-B}", "${}", "${ A }", "pa${ssword", "${A:b"])
def test_what_is_no_reference_is_not_sent_as_it_stands(template: str) -> None:
    """A misspelt reference is an error that does not repeat the text, which may be a password."""
    with pytest.raises(MissingSecret) as caught:
        Secrets(environ={"A": "x"}).expand(template)
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
    """CONTRACT: AUT-18: reading the configuration resolves no credential; the first use does, and only then it is remembered."""

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
    [("hunter22", "Secret([secret])"), ("Bearer ${TOKEN}", "Secret('Bearer ${TOKEN}')"), ("${TOKEN:-hunter22}", "Secret('${TOKEN}')")],
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


@pytest.mark.parametrize("encoding", ENCODINGS)
@given(value=st.one_of(st.just(KEY), VALUES))
def test_a_secret_is_found_in_each_encoding(encoding: str, value: str) -> None:
    """A revealed value is removed however an API echoes it."""
    encoded = ENCODINGS[encoding](value)
    scrubbed = knowing(value).scrub(f"<{encoded}>")
    assert encoded not in scrubbed
    assert REDACTED in scrubbed


@given(VALUES, st.binary(max_size=7), st.binary(max_size=7), st.sampled_from([base64.b64encode, base64.urlsafe_b64encode]))
def test_a_secret_is_found_in_base64_at_any_offset(value: str, before: bytes, after: bytes, encode: object) -> None:
    """Inside a longer base64 text no more than the edges of a revealed value are left."""
    text = encode(before + value.encode() + after).decode()  # type: ignore[operator]
    scrubbed = knowing(value).scrub(text)
    assert REDACTED in scrubbed
    left = scrubbed.replace(REDACTED, "")
    assert len(left) <= len(base64.b64encode(before)) + len(base64.b64encode(after)) + 4


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
    assert secrets.scrub_value(value, json.dumps(value).encode()) == secrets.scrub_value(value)


def test_scrub_value_saves_the_walk_when_clean() -> None:
    """A value whose JSON holds no secret is returned as it is, not copied."""
    value = {"a": ["clean"]}
    assert knowing("long-token").scrub_value(value, json.dumps(value).encode()) is value


@given(VALUES)
def test_dumped_json_tells_of_every_secret(value: str) -> None:
    """The shortcut over a value's JSON misses no value, whether or not the JSON escapes letters."""
    secrets = knowing(value)
    for ensure_ascii in (True, False):
        data = {"k": f"<{value}>"}
        assert value not in secrets.scrub_value(data, json.dumps(data, ensure_ascii=ensure_ascii).encode())["k"]


def test_environment_that_is_no_utf8() -> None:
    """A variable with stray bytes is remembered and scrubbed like any other."""
    odd = os.fsdecode(b"token-\xff-token")
    secrets = Secrets(environ={"T": odd})
    assert secrets.expand("${T}", remember=True) == odd
    assert secrets.scrub(f"<{odd}>") == f"<{REDACTED}>"
    assert secrets.scrub_value(b"clean") == b"clean"
