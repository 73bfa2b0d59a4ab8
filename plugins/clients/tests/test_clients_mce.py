"""`swaggers.yaml` of MCE becomes servers with documents."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest

from .conftest import Home

pytestmark = pytest.mark.slow

SWAGGERS = """\
servers:
  - name: weather
    swagger_url: https://api.example.com/openapi.json
    base_url: https://api.example.com
    is_read_only: true
    auth: {type: jwt, token: "${WEATHER_TOKEN}"}
    extra_headers: {X-Version: v1, X-Api-Key: abcdef}
    top_level_functions: [getForecast, get_alerts]
    skills_url: ./docs/weather.md
  - name: hotel booking
    swagger_url: ./swaggers/hotel.yaml
    auth_header: Bearer literal-token-1
  - {name: a, swagger_url: https://h/a, auth: {type: basic, username: u, password: pw12}}
  - {name: b, swagger_url: https://h/b, auth: {type: oauth2, token_url: https://h/t, client_id: i, client_secret: s3cret, scope: "x y"}}
  - {name: c, swagger_url: https://h/c, auth: {type: api_key, name: k, value: "${K}", in: query}}
  - {name: d, swagger_url: https://h/d, auth: {type: none}}
  - {name: nothing}
  - text
"""


def imported(home: Home, *words: str) -> Any:
    ended = home.run("import", "config/swaggers.yaml", *words)
    return ended, tomllib.loads(home.read("project/doorward.toml"))["servers"]


@pytest.mark.slow
def test_servers_of_mce_are_taken_over(home: Home) -> None:
    """Documents, base URLs, headers, auth, promoted functions, guides and `is_read_only` have their like here; literal
    secrets go to `.env`. CONTRACT: SRC-02."""
    home.write("project/config/swaggers.yaml", SWAGGERS)
    home.write("project/swaggers/hotel.yaml", "openapi: 3.1.0")
    home.write("project/docs/weather.md", "# Weather")
    ended, servers = imported(home)
    assert servers == {
        "weather": {
            "source": "openapi", "spec": "https://api.example.com/openapi.json", "base_url": "https://api.example.com", "read_only": True,
            "skills": "docs/weather.md", "expose": ["getForecast", "get_alerts"],
            "headers": {"X-Version": "v1", "X-Api-Key": "${WEATHER_X_API_KEY}"}, "auth": {"type": "jwt", "token": "${WEATHER_TOKEN}"},
        },
        "hotel-booking": {
            "source": "openapi", "spec": "swaggers/hotel.yaml",
            "auth": {"type": "static", "value": "Bearer ${HOTEL_BOOKING_TOKEN}"},
        },
        "a": {"source": "openapi", "spec": "https://h/a", "auth": {"type": "basic", "username": "u", "password": "${A_PASSWORD}"}},
        "b": {
            "source": "openapi", "spec": "https://h/b",
            "auth": {"type": "oauth2", "token_url": "https://h/t", "client_id": "i", "client_secret": "${B_CLIENT_SECRET}", "scope": "x y",
                     "flow": "client_credentials"},
        },
        "c": {"source": "openapi", "spec": "https://h/c", "auth": {"type": "api_key", "name": "k", "value": "${K}", "in": "query"}},
        "d": {"source": "openapi", "spec": "https://h/d"},
    }  # fmt: skip
    assert ended.code == 1
    assert ended.out.count("has no swagger_url") == 2
    assert "WEATHER_TOKEN has no value yet" in ended.out
    assert "HOTEL_BOOKING_TOKEN=literal-token-1\n" in home.read("project/.env")
    assert imported(home)[0].out.count("is there already") == 6


@pytest.mark.parametrize(
    "text",
    [
        "servers: {",
        "- x",
        "servers: x",
        "a: &a [x]\nservers: [*a]",
        "servers: !!python/object/apply:os.system [touch x]",
        "[" * 50_000,
    ],
)
def test_hostile_yaml_is_refused(home: Home, text: str) -> None:
    """Broken YAML, other shapes, aliases, objects and depth are told, with the file."""
    home.write("project/x.yaml", text)
    ended = home.run("import", "x.yaml")
    assert ended.code == 1
    assert "warning: x.yaml: " in ended.err
    assert not (home.project / "x").exists()
    assert not (home.project / "doorward.toml").exists()


def test_settings_of_mce_are_told(home: Home) -> None:
    """What stands in variables, beside the servers or in an entry, and is not taken over, is told with what does the same
    here, and never with a value that may be secret; a list of allowed domains ends it with 1. CONTRACT: SRC-02, SEC-04."""
    home.write(
        "project/config/swaggers.yaml", "version: 2\nservers:\n- {name: a, swagger_url: https://h/a, verify: x}\n"
    )
    home.write("project/.env", "MCE_ALLOWED_DOMAINS=api.github.com, *.example.com\nMCE_A_AUTH=Bearer s3cret-of-mce\n")
    ended = home.run(
        "import", "config/swaggers.yaml", "--dry-run", MCE_DOCKER_HOST="unix:///x", MCE_LINT_ENABLED="true"
    )
    env = home.project / ".env"
    for line in (
        "config/swaggers.yaml: version is not taken over",
        f'{env}: MCE_ALLOWED_DOMAINS is not taken over; here: [policy] allow = ["https://api.github.com", "https://*.example.com"]',
        f"{env}: MCE_A_AUTH is not taken over; here: auth of the server",
        "the environment: MCE_DOCKER_HOST is not taken over; here: [executors.docker] host",
        'the environment: MCE_LINT_ENABLED is not taken over; here: plugins = ["ast", "ruff", "audit_jsonl"]',
    ):
        assert f"warning: {line}\n" in ended.err
    assert "verify is not taken over" in ended.out
    assert ended.code == 1
    assert "s3cret" not in ended.out + ended.err
    env.unlink()
    assert home.run("import", "config/swaggers.yaml", "--dry-run", MCE_PORT="1").code == 0
