"""Which account of a server a call uses is said, never guessed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from doorward import Call, ConfigError, Function, InvalidArguments, Refused
from doorward.access.principals import members_of
from doorward.config.config import Server, load
from doorward.config.settings import ServerSettings
from doorward.deciding import ACCOUNT
from doorward.servers.accounts import Accounts

ACCOUNTS: dict[str, Any] = {
    "home": {"default": True},
    "work": {"when": {"owner": "acme-*"}},
    "lab": {"principals": ["bob", "@robots"], "when": {"owner": ["*-lab", "7"], "kind": "x"}},
    "ci": {"principals": ["@robots"]},
}


def accounts(**changed: Any) -> Accounts:
    settings = ServerSettings(source="x", accounts={**ACCOUNTS, **changed})
    return Accounts(Server("hub", settings, {}, "[servers.hub]"), members_of({"robots": ["r*"]}))


@pytest.mark.parametrize(
    ("who", "asked", "arguments", "chosen"),
    [
        ("al", None, {}, "home"),
        ("al", None, {"owner": "acme-x"}, "work"),
        ("al", None, {"owner": None}, "home"),
        ("al", None, {"owner": "a-lab", "kind": "x"}, "home"),
        ("bob", None, {"owner": "a-lab", "kind": "x"}, "lab"),
        ("bob", None, {"owner": 7, "kind": "x"}, "lab"),
        ("bob", None, {"owner": "a-lab"}, "home"),
        ("bob via desk", None, {"owner": "a-lab", "kind": "x"}, "lab"),
        ("bob", "home", {"owner": "acme-x"}, "home"),
        ("r1", None, {}, "ci"),
    ],
)
def test_an_account_is_chosen(who: str, asked: Any, arguments: dict[str, Any], chosen: str) -> None:
    """By the call, by rules, else the default."""
    assert accounts().choose(asked, arguments, who) == chosen


def test_what_is_not_sure_is_an_error() -> None:
    """It names those that fit, and none that is not for whoever asks."""
    with pytest.raises(Refused, match=r"'work' and 'lab' of hub fit") as refused:
        accounts().choose(None, {"owner": "acme-lab", "kind": "x"}, "bob")
    assert "'ci'" not in str(refused.value) + str(refused.value.hint)
    with pytest.raises(Refused, match=r"'work' and 'ci' of hub fit"):
        accounts().choose(None, {"owner": "acme-x"}, "r1")
    with pytest.raises(Refused, match=r"depends on 'owner'"):
        accounts().choose(None, {"owner": ["acme-x"]}, "al")
    with pytest.raises(Refused, match=r"no account of hub fits") as none:
        accounts(home={}).choose(None, {}, "al")
    assert "home, work." in str(none.value.hint)
    for asked in ("lab", "ci", "nowhere", ["home"], ""):
        with pytest.raises(InvalidArguments, match=r"no account .* for you") as wrong:
            accounts().choose(asked, {}, "al")
        assert "Accounts of hub: home, work." in str(wrong.value.hint)
    assert accounts().said("al").startswith("_account= chooses the account: 'home', 'work';")
    assert Call(Function("hub", "f", "f"), {ACCOUNT: "work"}).account == "work"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("accounts.a = { default = true }\naccounts.b = { default = true }", "'a' and 'b' are both the default"),
        ('auth = { type = "x" }\naccounts.a = {}', "in the place of `auth`"),
        ('accounts."a@b" = {}', "cannot name an account"),
        ("accounts.a = { defualt = true }", "did you mean 'default'"),
    ],
)
def test_what_cannot_be_accounts(tmp_path: Path, text: str, told: str) -> None:
    """The server is broken, and says why."""
    (tmp_path / "doorward.toml").write_text(f'[servers.hub]\nsource = "openapi"\n{text}\n')
    broken = load(tmp_path / "doorward.toml").broken["hub"]
    assert isinstance(broken, ConfigError)
    assert told in str(broken)
