"""`doorward.toml` and `DOORWARD_*`."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from doorward.config.config import Loaded, load, module_name, validate
from doorward.config.environment import from_environment
from doorward.config.layers import merge
from doorward.config.settings import Config, LimitSettings
from doorward.model.errors import ConfigError
from doorward.model.settings import Settings
from doorward.secrets.store import Secret, Secrets
from pydantic import BaseModel

Loader = Callable[..., Loaded]


def test_defaults(loaded: Loader) -> None:
    """An empty file gives core's defaults, and nothing counts as chosen."""
    config = loaded("")
    assert (config.config.executor, config.config.cache, config.config.surface) == (["monty"], "sqlite", "standard")
    assert config.config.limits.timeout == 30
    assert config.named == frozenset()


def test_the_file_is_read_once(loaded: Loader, monkeypatch: pytest.MonkeyPatch) -> None:
    """Large files take a while to be parsed."""
    texts: list[str] = []
    parse = tomllib.loads
    monkeypatch.setattr(tomllib, "loads", lambda text: texts.append(text) or parse(text))
    assert loaded('state = "here"').config.state == Path("here")
    assert texts.count('state = "here"') == 1


def test_a_server_and_its_options(loaded: Loader) -> None:
    """Core's keys of a server are validated; the others are kept for its source, unexpanded."""
    server = loaded('[servers.github]\nsource = "openapi"\nread_only = true\nspec = "${SPEC}"\n').servers["github"]
    assert server.settings.source == "openapi"
    assert server.settings.read_only
    assert server.options == {"spec": "${SPEC}"}
    assert server.place == "doorward.toml [servers.github]"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('executer = "monty"', r"unknown key 'executer'; did you mean 'executor'\?"),
        (
            '[limits]\nexecutor = "x"',
            r"unknown key 'limits.executor': executor is a key of the top, and stands above the first \[",
        ),
        ("[limits]\ntimout = 3", r"unknown key 'limits.timout'; did you mean 'timeout'\?"),
        (
            "[limits]\nzzzzzz = 3",
            "unknown key 'limits.zzzzzz'; known: asking, calls, .*, sessions, timeout \\(line 2\\)$",
        ),
        ("zzzzzz = 3", "unknown key 'zzzzzz'; known: .*cache, caches, capabilities, .*executor, "),
        ("[limits]\ntimeout = -1", "limits.timeout: Input should be greater than 0"),
        ('surface = "huge"', "surface: Input should be 'standard', 'minimal' or 'calls'"),
        ('vault_key_before = "x"', "vault_key_before: it is for what `vault_key` does not open, and there is none"),
        ("a = 1\nb = = 2\n", r"Invalid value \(at line 2"),
        ('state = "${NOWHERE}"', r"state: \$\{NOWHERE\} has no value. Set it in .env or the environment."),
    ],
)
def test_messages(loaded: Loader, text: str, message: str) -> None:
    """What is wrong outside of the servers stops the start; the message names file, key or line, and a near name."""
    with pytest.raises(ConfigError, match=rf"^doorward.toml: {message}"):
        loaded(text)


@pytest.mark.parametrize(
    ("environ", "message"),
    [
        (
            {"DOORWARD_LIMITS__TIMEOUT": "soon"},
            "the environment: DOORWARD_LIMITS__TIMEOUT: limits.timeout: Input should",
        ),
        ({"DOORWARD_LIMITS": '{"timeout": -1}'}, "the environment: DOORWARD_LIMITS: limits.timeout: Input should be"),
        (
            {"DOORWARD_LIMITS__TIMOUT": "1"},
            "the environment: DOORWARD_LIMITS__TIMOUT: unknown key 'limits.timout'; did",
        ),
    ],
)
def test_the_variable_that_is_wrong_is_named(loaded: Loader, environ: dict[str, str], message: str) -> None:
    """Also beside what is wrong in the file, which has its own name."""
    with pytest.raises(ConfigError, match=rf"^{message}"):
        loaded("", **environ)
    with pytest.raises(ConfigError, match=r"^doorward.toml: surface: Input .*; DOORWARD_L\w+: .*limits"):
        loaded('surface = "huge"', **environ)


def test_a_variable_of_a_server_is_named(loaded: Loader) -> None:
    """What is wrong with it is told where the server is."""
    found = loaded('[servers.my-api]\nsource = "x"', DOORWARD_SERVERS__MY_API__READ_ONLY="often")
    assert str(found.broken["my-api"]).startswith(
        "the environment: DOORWARD_SERVERS__MY_API__READ_ONLY: read_only: Input"
    )


def test_a_missing_file_says_what_to_do(tmp_path: Path) -> None:
    """Without a file the message names it and how to make one."""
    with pytest.raises(ConfigError, match="there is no such file") as caught:
        load(tmp_path / "no.toml")
    assert "doorward init" in str(caught.value.hint)


def test_a_byte_order_mark_is_no_error(tmp_path: Path) -> None:
    """A file saved by an editor that adds a byte order mark is read."""
    (tmp_path / "doorward.toml").write_bytes(b'\xef\xbb\xbfsurface = "minimal"\r\n')
    assert load(tmp_path / "doorward.toml", environ={}).config.surface == "minimal"


OTHER = '\n[servers.other]\nsource = "openapi"\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[servers.bad]\nsource = "openapi"\ninclude = ["${NOWHERE}"]', r"include: \$\{NOWHERE\} has no value"),
        ("[servers.bad]\nread_only = true", "source: Field required"),
        ('[servers.bad]\nsource = "openapi"\nread_only = "maybe"', "read_only: Input should be a valid boolean"),
        (
            '[servers.bad]\nsource = "openapi"\n[servers.bad]\nsource = "mcp"',
            r"\[servers.bad\] is given twice, again in line 3",
        ),
    ],
)
def test_one_broken_server_breaks_only_itself(loaded: Loader, text: str, message: str) -> None:
    """A server with a missing variable, a wrong key or a second table is listed as broken, and the others serve."""
    config = loaded(text + OTHER)
    assert list(config.broken) == ["bad"]
    assert list(config.servers) == ["other"]
    with pytest.raises(ConfigError, match=message):
        raise config.broken["bad"]


@pytest.mark.parametrize("name", ["json", "asyncio", "doorward", "class", "import", "1st", "größe", ""])
def test_names_that_no_server_may_have(loaded: Loader, name: str) -> None:
    """A server whose name cannot be imported, or hides a module that programs need, is broken, and the others serve."""
    config = loaded(f'[servers."{name}"]\nsource = "openapi"\n{OTHER}')
    assert list(config.broken) == [name]
    assert list(config.servers) == ["other"]


def test_two_servers_with_one_module_name(loaded: Loader) -> None:
    """Of two servers that would be imported by the same name the first one stays."""
    config = loaded('[servers.my-api]\nsource = "openapi"\n[servers.my_api]\nsource = "openapi"\n')
    assert list(config.servers) == ["my-api"]
    assert module_name("my-api") == "my_api"
    assert "is imported as `my_api`, and so is server 'my-api'" in str(config.broken["my_api"])


def test_environment_wins_over_the_file(loaded: Loader) -> None:
    """DOORWARD_* variables set scalars, lists and nested keys, over what the file says."""
    config = loaded(
        'surface = "minimal"\n[limits]\ntimeout = 5\n[servers.my-api]\nsource = "openapi"\n',
        DOORWARD_SURFACE="standard",
        DOORWARD_LIMITS__TIMEOUT="7.5",
        DOORWARD_LIMITS__MEMORY="1GiB",
        DOORWARD_PLUGINS='["ruff"]',
        DOORWARD_EXECUTOR="docker",
        DOORWARD_STATE_DIR="/tmp/state",
        DOORWARD_CONFIG="ignored",
        DOORWARD_NESTED="1",
        DOORWARD_SERVERS__MY_API__BASE_URL="https://example.com",
    )
    assert config.config.surface == "standard"
    assert (config.config.limits.timeout, config.config.limits.memory) == (7.5, 2**30)
    assert (config.config.plugins, config.config.executor, config.config.state) == (
        ["ruff"],
        ["docker"],
        Path("/tmp/state"),
    )
    assert config.servers["my-api"].options == {"base_url": "https://example.com"}
    assert config.broken == {}
    assert {"surface", "plugins", "state"} <= config.named


@pytest.mark.parametrize("kind", ["folder", "link"])
def test_a_dotenv_that_is_none_is_told(tmp_path: Path, loaded: Loader, kind: str) -> None:
    """A folder, or a link that leads nowhere, in the place of `.env` is an error: its variables are missed otherwise
    where nobody looks."""
    (tmp_path / ".env").mkdir() if kind == "folder" else (tmp_path / ".env").symlink_to(tmp_path / "nowhere")
    with pytest.raises(ConfigError, match="cannot hold variables") as caught:
        loaded("")
    assert caught.value.place == str(tmp_path / ".env")


def test_dotenv_beside_the_file_sets_too(tmp_path: Path, loaded: Loader) -> None:
    """CONTRACT: AUT-13: .env is found beside the file, another one is named by --env-file, and the real environment
    wins."""
    (tmp_path / ".env").write_text("DOORWARD_SURFACE=minimal\nDOORWARD_LOG_LEVEL=debug\n")
    config = loaded("", DOORWARD_LOG_LEVEL="error").config
    assert (config.surface, config.log_level) == ("minimal", "error")
    (tmp_path / "other.env").write_text("DOORWARD_LOG_LEVEL=info\n")
    assert load(tmp_path / "doorward.toml", env_file=tmp_path / "other.env", environ={}).config.log_level == "info"
    with pytest.raises(ConfigError, match="there is no such file"):
        load(tmp_path / "doorward.toml", env_file=tmp_path / "missing.env", environ={})


@pytest.mark.parametrize(
    ("environ", "message"),
    [
        ({"DOORWARD_PLUGINS": "[ast"}, "^DOORWARD_PLUGINS: is no JSON"),
        ({"DOORWARD_LIMITS": "x", "DOORWARD_LIMITS__TIMEOUT": "1"}, "^DOORWARD_LIMITS__TIMEOUT: goes below"),
    ],
)
def test_wrong_variables_are_named(environ: dict[str, str], message: str) -> None:
    """A variable that cannot be read is named in the message."""
    with pytest.raises(ConfigError, match=message):
        from_environment(Secrets(environ=environ))


def test_variables_that_are_no_settings_are_named(loaded: Loader) -> None:
    """A variable that names no setting is not told as a key of the file."""
    with pytest.raises(ConfigError, match=r"^DOORWARD_SURFASE: there is no setting 'surfase'"):
        loaded("", DOORWARD_SURFASE="minimal")


def test_reading_resolves_no_credential(loaded: Loader) -> None:
    """CONTRACT: AUT-18: a configuration whose secrets are all missing is read; nothing is looked up in it."""
    server = loaded('[servers.a]\nsource = "openapi"\nauth = { type = "jwt", token = "${TOKEN}" }\n').servers["a"]
    assert server.settings.auth == {"type": "jwt", "token": "${TOKEN}"}


def test_a_plugin_has_its_strings_expanded() -> None:
    """CONTRACT: AUT-09: strings of a plugin's settings are expanded while they are read, those of Secret fields when
    used."""

    class Inner(Settings):
        path: str

    class Driver(Settings):
        url: str
        hosts: list[str]
        inner: Inner
        token: Secret

    data = {"url": "https://${HOST}/", "hosts": ["${HOST}"], "inner": {"path": "${HOST}/p"}, "token": "${HOST}"}
    driver = validate(Driver, data, secrets=Secrets(environ={"HOST": "h"}), place="test")
    assert (driver.url, driver.hosts, driver.inner.path, driver.token.raw) == ("https://h/", ["h"], "h/p", "${HOST}")


def test_merge_goes_into_tables_only() -> None:
    """Tables are merged, lists and scalars replaced, and neither side is changed."""
    below: dict[str, Any] = {"a": {"b": 1, "c": [1]}, "d": 1}
    assert merge(below, {"a": {"c": [2]}, "d": {"e": 1}}) == {"a": {"b": 1, "c": [2]}, "d": {"e": 1}}
    assert below == {"a": {"b": 1, "c": [1]}, "d": 1}


def test_limits_reach_a_run_complete() -> None:
    """Every limit of a run has its setting."""
    assert LimitSettings(timeout=3).of_run().timeout == 3


def test_every_setting_says_what_it_is() -> None:
    """Limits are documented, since `doorward schema` prints them."""
    assert all(field.description for field in LimitSettings.model_fields.values())
    assert issubclass(Config, BaseModel)


@pytest.mark.parametrize(
    ("platform", "environ", "folder"),
    [
        ("linux", {}, "~/.local/state/doorward"),
        ("linux", {"XDG_STATE_HOME": " "}, "~/.local/state/doorward"),
        ("linux", {"XDG_STATE_HOME": "/var/mine"}, "/var/mine/doorward"),
        ("darwin", {}, "~/Library/Application Support/doorward"),
        ("win32", {}, "~/AppData/Local/doorward/doorward"),
        ("win32", {"LOCALAPPDATA": "/local"}, "/local/doorward/doorward"),
    ],
)
def test_where_state_lies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, platform: str, environ: dict[str, str], folder: str
) -> None:
    """In the user's state folder, where each system has it; two configurations never share one."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("XDG_STATE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    places = []
    for name in ("one.toml", "two.toml"):
        (tmp_path / name).touch()
        loaded = load(tmp_path / name)
        monkeypatch.setattr(sys, "platform", platform)
        places.append(loaded.state_folder())
    assert {str(place.parent) for place in places} == {str(Path(folder.replace("~", str(tmp_path))))}
    assert len(set(places)) == 2
