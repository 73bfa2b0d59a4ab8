"""The rule that `doorward approvals approve --always` writes: before the one that asks."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from doorward.configuration import Index, installed
from doorward.model.calls import Call
from doorward.model.errors import ConfigError
from doorward.model.functions import Function
from doorward_approvals import rules
from doorward_approvals.narrow_rules import narrow_rule
from doorward_cli import Project

PAY = Function("bank", "pay", "pay", route="POST /payments")


ASKING = "[[policy.rules]] 1"


def proposed(function: Function, principal: str = "ann", asking: str = ASKING, **arguments: Any) -> dict[str, Any]:
    return narrow_rule(Call(function, arguments, "r", principal), asking, lambda text: text.replace("k3y", "[secret]"))


HEAD = "# ours\n[limits]\ntimeout = 3 # seconds\n"


DENY, ASK = '[[policy.rules]]\nmatch = "x"\nthen = "deny" # never\n', '[[policy.rules]]\nthen = "confirm"\n'


SERVER = '[servers.a]\nsource = "b"\n'


FILES = [
    (HEAD, "[policy] default", 0),
    (HEAD + '[policy]\nallow = ["*"]\n', "[policy] default", 0),
    (HEAD + ASK + DENY + SERVER, ASKING, 0),
    (HEAD + DENY + ASK + SERVER, "[[policy.rules]] 2", 1),
    (HEAD + DENY + DENY + SERVER, "[policy] default", 2),
    ("\ufeff" + HEAD, "[policy] default", 0),
]


@pytest.mark.parametrize(("text", "asking", "place"), FILES)
def test_it_is_written_before_the_rule_that_asks(tmp_path: Path, text: str, asking: str, place: int) -> None:
    """The rest of the file stays as it is."""
    file = tmp_path / "doorward.toml"
    file.write_text(text)
    rule = proposed(PAY, to="bob")
    rules.put_before(Project(file, None, False), rule, asking)
    after = file.read_text()
    data, old = tomllib.loads(after.removeprefix("\ufeff")), tomllib.loads(text.removeprefix("\ufeff"))
    written = old.get("policy", {}).pop("rules", [])
    written.insert(place, rule)
    assert data["policy"].pop("rules") == written
    assert {"policy": {}, **data} == {"policy": {}, **old}
    assert all(line in after.splitlines() for line in text.splitlines())
    assert tomllib.loads(rules.rule_text(rule))["policy"]["rules"] == [rule]


def test_a_file_that_could_not_be_used_stays_as_it_was(tmp_path: Path) -> None:
    for text, asking in (
        ("[limits]\ntimeout = 'no'\n", "[policy] default"),
        (HEAD + '[[policy.rules]]\nthen = "confirm"\nwhen = "args.a +"\n', ASKING),
        ("policy = { rules = [] }\n", "[policy] default"),
        ("[[broken", "[policy] default"),
        (HEAD, ASKING),
        (HEAD + DENY + ASK, ASKING),
        (HEAD + ASK, "[[policy.rules]] 2"),
    ):
        file = tmp_path / "doorward.toml"
        file.write_text(text)
        with pytest.raises(ConfigError):
            rules.put_before(Project(file, None, False), proposed(PAY, to="bob"), asking)
        assert file.read_text() == text


@pytest.mark.parametrize("rule", [{"then": "no"}, {"when": "1", "then": "allow"}])
def test_a_rule_that_could_not_be_used_is_never_written(tmp_path: Path, rule: dict[str, Any]) -> None:
    """Not even for a moment, in which a server that runs would read it: the file is the very same."""
    file = tmp_path / "doorward.toml"
    file.write_text(HEAD + ASK)
    before = file.stat()
    with pytest.raises(ConfigError):
        rules.put_before(Project(file, None, False), rule, ASKING)
    assert (file.read_text(), file.stat().st_ino) == (HEAD + ASK, before.st_ino)


def test_no_rule_is_written_that_lacks_what_it_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else nothing that reads the configuration would start, the approved run included. It says what to install."""
    entries = [entry for entry in installed() if entry.distribution != "doorward-policy-rules"]
    monkeypatch.setattr("doorward.config.layers.find_index", lambda: Index(entries))
    file = tmp_path / "doorward.toml"
    file.write_text(HEAD + ASK)
    with pytest.raises(ConfigError, match="pip install doorward-policy-rules"):
        rules.put_before(Project(file, None, False), proposed(PAY, to="bob"), ASKING)
    assert file.read_text() == HEAD + ASK
    assert [each.name for each in tmp_path.iterdir()] == ["doorward.toml"]
