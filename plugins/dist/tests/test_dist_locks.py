"""What a distribution locks, against a file, variables and options that would loosen it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from doorward import ConfigError
from doorward.config.config import Loaded, load, reloaded

Loader = Callable[..., Loaded]
Distro = Callable[..., None]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "environ"),
    [
        ("[limits]\ntimeout = 60", {}),
        ("[limits]\ntimeout = 60.0", {}),
        ("[limits]\ntimeout = '60'", {}),
        ("", {"DOORWARD_LIMITS__TIMEOUT": "60"}),
        ("", {"DOORWARD_LIMITS__TIMEOUT": "60.0"}),
        ("", {"DOORWARD_LIMITS": '{"timeout": 60}'}),
        ("executor = 'monty'", {}),
        ("[limits]\nmemory = 268435456", {}),
        ("[limits]\nmemory = '256 MiB'", {}),
        ("state = '/srv/acme/'", {}),
        ("", {"DOORWARD_STATE_DIR": "/srv/./acme"}),
        ("[http]\norigins = ['https://b.example.com', 'https://A.example.com:443']", {}),
        ("[principals.alice]\ndeny = ['up.b', 'up.a']", {}),
        ("[servers.up]\nread_only = true\nspec = '/api.json'", {}),
        ("", {"DOORWARD_SERVERS__UP__READ_ONLY": "True", "DOORWARD_SERVERS__UP__RETRIES": "1"}),
        ("[hooks.corp]\n", {}),
    ],
)
def test_the_locked_value_may_be_given_again(
    loaded: Loader, distro: Distro, text: str, environ: dict[str, str]
) -> None:
    """Whoever writes what the distribution says changes nothing, however the value is written."""
    distro(
        "[locked]\nexecutor = ['monty']\nstate = '/srv/acme'\n[locked.limits]\ntimeout = 60\nmemory = '256MiB'\n"
        "[locked.http]\norigins = ['https://a.example.com', 'https://b.example.com']\n"
        "[locked.principals.'*']\ndeny = ['up.a', 'up.b']\n"
        "[locked.servers.up]\nsource = 'openapi'\nspec = '/api.json'\nread_only = true\nretries = 1\n"
        "[locked.hooks.corp]\nalways = ['*']\n"
    )
    assert loaded(text, **environ).config.limits.timeout == 60


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "environ", "message"),
    [
        ("[http]\nport = 1", {}, r"http.port = 1 may not be set: acme-distro 1.2 locks \[http\]"),
        ("http = 5", {}, r"http = 5 may not be set: acme-distro 1.2 locks \[http\]"),
        ("", {"DOORWARD_HTTP__HOST": "0.0.0.0"}, "http.host = '0.0.0.0' may not be set"),
        ("", {"DOORWARD_HTTP": '{"host": "0.0.0.0"}'}, "http.host = '0.0.0.0' may not be set"),
        ("", {"DOORWARD_HTTP__HOST": "127.0.0.1", "DOORWARD_HTTP__PORT": "1"}, "http.port = '1' may not be set"),
        ("[http.oauth]\nissuer = 'https://evil.example'", {}, "http.oauth.issuer"),
        ("[hooks.corp]\nalways = ['*']", {}, r"hooks.corp.always = .* locks \[hooks.corp\]"),
        ("[hooks.audit_jsonl]\npath = '/dev/null'", {}, r"hooks.audit_jsonl.path = '/dev/null' may not be set"),
        ("", {"DOORWARD_HOOKS__AUDIT_JSONL__PATH": "/dev/null"}, "hooks.audit_jsonl.path"),
        ("[executors.nsjail]\npaths = ['/etc']", {}, r"executors.nsjail.paths .* locks \[executors.nsjail\]"),
        ("[servers.my-api]\nbase_url = 'https://evil.example'", {}, "servers.my-api.base_url"),
        ("[servers.my-api]\norigins = ['https://evil.example']", {}, r"servers.my-api.origins .*\[servers.my-api\]"),
        ("[servers.my-api]\ndisabled = true", {}, "servers.my-api.disabled"),
        ("", {"DOORWARD_SERVERS__MY_API__DISABLED": "true"}, "servers.my-api.disabled"),
        ("", {"DOORWARD_SERVERS": '{"my-api": {"disabled": true}}'}, "servers.my-api.disabled"),
        ("[principals.bob]\ndeny = []", {}, r"principals.bob.deny = \[\] may not be changed"),
        ("", {"DOORWARD_PRINCIPALS": '{"bob": {"deny": null}}'}, "principals.bob.deny = None may not be changed"),
        ("[policy]\ndeny = []", {}, r"policy.deny = \[\] may not be changed"),
        ("", {"DOORWARD_POLICY__DENY": "[]"}, r"policy.deny = \[\] may not be changed"),
        ("", {"DOORWARD_POLICY": '{"deny": null}'}, "policy.deny = None may not be changed"),
        ("policy = 1", {}, r"policy = 1 may not be changed: acme-distro 1.2 locks policy.deny to"),
        ("[policy.deny]\nx = 1", {}, "policy.deny.x = 1 may not be changed"),
        ("executor = ['monty', 'nsjail']", {}, "executor = .* may not be changed"),
        ("executor = ['nsjail', 'monty']", {}, "executor = .* may not be changed"),
        ("vault_key = 'hunter2'", {}, "vault_key may not be changed: acme-distro 1.2 locks it$"),
        ("surface = '${SURFACE}'", {"SURFACE": "standard"}, "surface = .* may not be changed"),
    ],
)
def test_nothing_loosens_a_lock(
    loaded: Loader, distro: Distro, text: str, environ: dict[str, str], message: str
) -> None:
    """Locked keys and tables refuse the file and the environment, whatever the shape of what they say; keys that the
    distribution did not name are locked in the tables of what it requires or brings."""
    distro(
        "lock = ['http']\n[required]\nplugins = ['corp', 'audit_jsonl']\n"
        "[locked]\nexecutor = ['nsjail']\nvault_key = 'abcdefgh'\nsurface = 'minimal'\n[locked.policy]\ndeny = ['*.x']\n"
        "[locked.servers.my-api]\nsource = 'openapi'\nspec = 'x'\n"
        "[locked.principals.'*']\ndeny = ['my_api.secret']\n"
    )
    assert loaded("")
    with pytest.raises(ConfigError, match=message) as caught:
        loaded(text, **environ)
    assert "hunter2" not in str(caught.value)
    assert caught.value.hint.startswith("Remove it from the ")


def test_an_opened_key_may_be_set(loaded: Loader, distro: Distro) -> None:
    """`open` names what users may set in a locked table; the rest of it stays locked."""
    distro("open = ['hooks.audit_jsonl.path', 'hooks.corp.room']\n[required]\nplugins = ['audit_jsonl', 'corp']\n")
    text = "[hooks.audit_jsonl]\npath = '/srv/audit'\n[hooks.corp.room]\nname = 'x'\n"
    assert loaded(text).config.hooks["audit_jsonl"] == {"path": "/srv/audit"}
    with pytest.raises(ConfigError, match=r"hooks.audit_jsonl.keep = 0 may not be set"):
        loaded(f"{text}[hooks.audit_jsonl]\nkeep = 0\n".replace(text, "", 1))


def test_a_wildcard_locks_a_key_of_every_table(loaded: Loader, distro: Distro) -> None:
    """`servers.*.auth` keeps users from giving any server credentials; `servers` keeps them from having servers."""
    distro("lock = ['servers.*.auth']\n")
    assert loaded("[servers.mine]\nsource = 'openapi'\nspec = 'x'\n").servers
    with pytest.raises(ConfigError, match=r"servers.mine.auth.type may not be set: .* locks \[servers.\*.auth\]"):
        loaded("[servers.mine]\nsource = 'openapi'\nauth = { type = 'jwt' }\n")


@pytest.mark.parametrize(
    ("key", "kind"),
    [("executor", "executors"), ("plugins", "hooks"), ("observer", "observers")],
)
def test_a_locked_choice_locks_the_settings_of_what_is_chosen(
    loaded: Loader, distro: Distro, key: str, kind: str
) -> None:
    """`lock = ["executor"]` means the executors that run, as `[locked] executor` does, wherever they are named."""
    distro(
        f"lock = ['{key}']\n[defaults]\n{key} = ['nsjail']\n[defaults.{kind}.nsjail]\nx = 1\n",
        requires=("doorward", "doorward-observers"),
    )
    assert loaded(f"{key} = ['nsjail']\n[{kind}.nsjail]\nx = 1\n")
    with pytest.raises(ConfigError, match=rf"{kind}.nsjail.paths .* locks \[{kind}\]"):
        loaded(f"[{kind}.nsjail]\npaths = ['/etc']\n")


def test_a_locked_list_of_servers_grows_by_none(loaded: Loader, distro: Distro) -> None:
    """Not even an empty table makes another server."""
    distro("lock = ['servers']\n[locked.servers.up]\nsource = 'openapi'\nspec = 'x'\n")
    assert [*loaded("").servers] == ["up"]
    for text in ("[servers.mine]\n", "[servers.mine]\nsource = 'openapi'\n"):
        with pytest.raises(ConfigError, match=r"servers.mine.* may not be set: .* locks \[servers\]"):
            loaded(text)


@pytest.mark.parametrize("layer", ["locked", "defaults"])
@pytest.mark.parametrize("twice", ["", "[servers.my-api]\nspec = 'x'\n[servers.my-api]\nspec = 'x'\n"])
def test_a_server_of_the_distribution_keeps_its_import_name(
    loaded: Loader, distro: Distro, layer: str, twice: str
) -> None:
    """A user's server with the same import name is the broken one, wherever it stands, even if the other is broken."""
    distro(f"[{layer}.servers.my-api]\nsource = 'openapi'\nspec = 'x'\n")
    config = loaded(f"[servers.my_api]\nsource = 'openapi'\nspec = 'evil'\n{twice}")
    assert "my_api" not in config.servers
    assert "so is server 'my-api' of acme-distro 1.2" in str(config.broken["my_api"])
    assert ("my-api" in config.servers) is not bool(twice)


def test_an_option_is_a_layer_like_any_other(distro: Distro, loaded: Loader) -> None:
    """Options of a command line win over the file and the environment, and stop at locks; so they do when the file is
    read again."""
    file = loaded("[http]\nport = 1\n").path
    options: dict[str, Any] = {"http": {"host": "0.0.0.0", "port": 2}}
    config = load(file, environ={"DOORWARD_HTTP__PORT": "3"}, options=options)
    assert (config.config.http.host, config.config.http.port) == ("0.0.0.0", 2)
    assert reloaded(config).config.http.port == 2
    distro("[locked.http]\nhost = '127.0.0.1'\n")
    with pytest.raises(ConfigError, match=r"http.host = '0.0.0.0' may not be changed: acme-distro 1.2 locks it"):
        load(file, environ={}, options=options)
    assert load(file, environ={}, options={"http": {"host": "127.0.0.1"}})


def test_a_lock_holds_while_serving(distro: Distro, loaded: Loader) -> None:
    """A file that is changed meanwhile is checked like the first one."""
    distro("lock = ['principals']\nopen = ['principals.*.tokens']\n[locked.limits]\ntimeout = 9\n")
    token = f"{{ id = 'a', hash = 'sha256:{'0' * 64}' }}"
    config = loaded(f"[principals.alice]\ntokens = [{token}]\n")
    for text in ("[limits]\ntimeout = 60\n", "[principals.bob]\nallow = ['*']\n"):
        config.path.write_text(f"{text}[principals.eve]\ntokens = [{token.replace('0', '1')}]\n")
        with pytest.raises(ConfigError, match="may not be"):
            reloaded(config)


def test_required_plugins_are_loaded_once_and_first(loaded: Loader, distro: Distro) -> None:
    """No list of the user moves, repeats or drops them, and none is read letter by letter."""
    distro("[required]\nplugins = ['corp', 'audit_jsonl']\n")
    for text in ("plugins = []", "plugins = ['audit_jsonl', 'corp', 'corp']", "plugins = 'corp'"):
        config = loaded(text)
        assert (config.config.plugins, config.required) == (["corp", "audit_jsonl"], {"corp", "audit_jsonl"})
    assert loaded("plugins = 'other'").config.plugins == ["corp", "audit_jsonl", "other"]
    with pytest.raises(ConfigError, match=r"plugins\.0: Input should be a valid string"):
        loaded("plugins = 7")


def test_the_folder_of_the_distribution(loaded: Loader, distro: Distro) -> None:
    """A file that lies in the package is named by `${distribution}`; a relative path would start at the user's file."""
    distro("[locked.servers.up]\nsource = 'openapi'\nspec = '${distribution}/api.json'\n")
    spec = loaded("").servers["up"].options["spec"]
    assert spec.endswith("/site/acme_distro/api.json")
    with pytest.raises(ConfigError, match=r"servers.up.spec"):
        loaded("[servers.up]\nspec = 'api.json'\n")
