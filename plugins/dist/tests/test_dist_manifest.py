"""The manifest of a distribution: nothing in it is passed over."""

from __future__ import annotations

import tomllib

import pytest
from doorward import ConfigError
from doorward.configuration import Index, installed
from doorward_dist.manifest import Manifest, path_of, validated


def read(text: str) -> Manifest:
    return validated(Manifest, tomllib.loads(text), "distro.toml of acme 1.2", Index(installed()))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[lockd]\nsurface = 'minimal'", r"unknown key 'lockd'; did you mean 'locked'\?"),
        ("allow_extra = ['x']", r"unknown key 'allow_extra'; did you mean 'allow-extra'\?"),
        ("[required]\nplugin = ['x']", r"unknown key 'required.plugin'; did you mean 'plugins'\?"),
        ("[required]\nplugins = 'x'", "required.plugins: Input should be a valid list"),
        ("[required]\nplugins = [1]", "required.plugins.0: Input should be a valid string"),
        ("[required]\nallow-extra = ['x']", "'allow-extra' stands below .required.: write it above the first table"),
        ("[locked]\nallow-extra = ['x']", "'allow-extra' stands below .locked.: write it above the first table"),
        ("[defaults.http]\nlock = ['x']", "defaults: unknown key 'http.lock'; known: body_timeout"),
        ("[locked]\nsurfce = 'minimal'", r"locked: unknown key 'surfce'; did you mean 'surface'\?"),
        ("[locked.limits]\ntimeout = 'long'", "locked: limits.timeout: Input should be a valid number"),
        ("lock = 'http'", "lock: Input should be a valid list"),
        ("lock = ['htpp']", r"lock: 'htpp': unknown key 'htpp'; did you mean 'http'\?"),
        ("lock = ['http.hots']", r"lock: 'http.hots': unknown key 'hots'; did you mean 'host'\?"),
        ("lock = ['principals.*.dny']", r"lock: .*unknown key 'dny'; did you mean 'deny'\?"),
        ("[locked.limits]\ntimeout = '${X}'", "limits.timeout is locked, and refers to a variable"),
        ("[locked.servers.up]\nbase_url = 'https://${X}'", "servers.up.base_url is locked, and refers to"),
        ("[locked]\nsurface = '${X'", "locked: surface: Input|surface is locked, and refers to"),
        ("lock = ['http']\n[defaults.http]\nhost = '${X}'", "http.host is locked, and refers to a variable"),
        ("[required]\nplugins = ['a']\n[defaults.hooks.a]\nx = [{ y = '${X}' }]", "hooks.a.x is locked, and refers"),
        ("open = ['hooks.corp.path']", "open: hooks.corp.path lies in no locked table"),
        ("lock = ['hooks..audit']", "lock: 'hooks..audit' is no path of keys"),
        ("lock = ['']", "lock: '' is no path of keys"),
        ("[policy]\ndenny = ['x']", r"unknown key 'policy.denny'; did you mean 'deny'\?"),
        ("[branding]\ntitel = 'x'", r"unknown key 'branding.titel'; did you mean 'title'\?"),
        ("[files]\nacme = 'sha256:12'", "files.acme: String should match pattern"),
        ("[locked.servers.'*']\nread_only = true", 'locked: .servers."."] is for one that is called so'),
        ("[defaults.hooks.'*']\nx = 1", "defaults: .*is for one that is called so"),
        ("locked = 1", "locked: .*should be a table"),
    ],
)
def test_a_mistake_is_refused_with_its_place(text: str, message: str) -> None:
    """A table or key that is misspelt, misplaced or of another type is an error with the distribution, file and key."""
    with pytest.raises(ConfigError, match=f"^distro.toml of acme 1.2: {message}"):
        read(text)


def test_a_complete_manifest() -> None:
    """Every table is read; values that users and their environment complete are no mistake."""
    manifest = read(
        "lock = ['http', 'servers.*.auth', 'hooks']\nopen = ['hooks.audit_jsonl.path']\nallow-extra = ['more']\n"
        "[defaults.http.oauth]\naudience = 'x'\n[defaults.limits]\ntimeout = '${TIMEOUT}'\n[locked.servers.up]\nauth = { token = '${UP}' }\n"
        "spec = '${distribution}/api.json'\n[required]\nplugins = ['corp']\n[policy]\ndeny = ['*.secret']\n[branding]\ntitle = 'Acme'\n"
        f"[files]\nopen = 'sha256:{'0' * 64}'\n"
    )
    assert (manifest.allow_extra, manifest.required.plugins, manifest.policy.allow) == (["more"], ["corp"], ["*"])


def test_paths_have_quotes_around_keys_with_dots() -> None:
    """A path names any table: that of a principal with a dot in its name, too."""
    assert path_of('principals."a.b@c".deny') == ("principals", "a.b@c", "deny")
    assert path_of("hooks.*.path") == ("hooks", "*", "path")
