"""Patterns of upstreams: what a user calls a server does not matter to them."""

from __future__ import annotations

from pathlib import Path

import pytest
from doorward.access.rules import Rules
from doorward.config.settings import PolicySettings
from doorward.config.upstream_patterns import UpstreamPattern, is_upstream, upstreams
from doorward.model.errors import ConfigError
from doorward.model.functions import Function
from pydantic import ValidationError

SECRET = Function("up2", "secret", "getSecret", route="GET /secret", tags=("admin",))
FILES = "command:npx @acme/files"


def covers(pattern: str, where: str, *, exactly: bool) -> bool:
    assert is_upstream(pattern)
    return UpstreamPattern(pattern).covers(upstreams([where])[0], exactly=exactly)


@pytest.mark.parametrize(
    ("pattern", "where"),
    [
        ("https://api.example.com", "https://api.example.com/v1"),
        ("https://API.example.com:443/", "https://api.example.com"),
        ("https://api.example.com", "HTTPS://API.EXAMPLE.COM.:443/v1/?x#y"),
        ("https://*.example.com", "https://api.example.com/"),
        ("https://api.example.com:*", "https://api.example.com:8443/"),
        ("http://[::1]:80", "http://[::1]/"),
        ("http://[::1]:8080", "http://[::1]:8080/x"),
        ("https://xn--bcher-kva.example", "https://bücher.example/"),
        (FILES, FILES),
        ("command:uvx mcp-server-git*", "command:uvx mcp-server-git --repository /srv"),
        ("socket:/run/*.sock", "socket:/run/docker.sock"),
        ("Socket:/run/d.sock", "socket:/run/d.sock"),
        ("COMMAND:npx x*", "command:npx x y"),
        ('command:sh -c "a b"', "command:sh -c 'a b'"),
        ("https://straße.example", "https://straße.example"),
        ("https://xn--strae-oqa.example", "https://STRAßE.example/"),
        ("http://127.0.0.1:9", "http://127.1:9"),
        ("http://127.0.0.1:9", "http://0x7f000001:9"),
        ("http://2130706433:9", "http://[::ffff:127.0.0.1]:9"),
        ("http://[0:0::1]:9", "http://[0:0:0:0:0:0:0:1]:9"),
    ],
)
def test_an_upstream_is_meant_however_it_is_written(pattern: str, where: str) -> None:
    """Case, default ports, paths and a dot at the end make no other origin."""
    assert covers(pattern, where, exactly=True)
    assert covers(pattern, where, exactly=False)


@pytest.mark.parametrize(
    ("pattern", "where"),
    [
        ("https://api.example.com", "http://api.example.com/"),
        (FILES, "command:npx -y @acme/files"),
        (FILES, "command:/usr/bin/npx -y @acme/files@1.2.3"),
        (FILES, "command:npx.cmd --yes @acme/files"),
        (FILES, "command:'C:\\tools\\NPX.exe' @acme/files@latest"),
        (FILES, "command:env A=1 B=2 npx @acme/files"),
        (FILES, "command:sh -c 'npx @acme/files'"),
        ("command:uvx server-git", "command:uvx server-git==1.0"),
        (FILES, "command:env -u A npx @acme/files"),
        (FILES, "command:timeout 60 npx @acme/files"),
        (FILES, "command:bash -lc 'cd x && exec npx @acme/files'"),
        (f"{FILES}*", 'command:bash -c "npx @acme/files \'a"'),
        ("http://127.0.0.1:9", "http://localhost:9"),
        ("http://localhost:9", "http://[::1]:9"),
        ("http://127.0.0.1:9", "https://0.0.0.0:9"),
        ("https://api.example.com:*", "https://api.example.com"),
        ("*://api.example.com:443", "https://api.example.com"),
        ("http://api.example.com:443", "https://api.example.com"),
        ("socket:/run/docker.sock", "socket:/run//x/../docker.sock"),
    ],
)
def test_what_is_denied_is_denied_in_every_known_form(pattern: str, where: str) -> None:
    """Another scheme, path, version, wrapper or quiet option reaches what is denied, but not what is allowed: it may be
    a program of the same name."""
    assert covers(pattern, where, exactly=False)
    assert not covers(pattern, where, exactly=True)


@pytest.mark.parametrize(
    ("pattern", "where"),
    [
        ("https://api.example.com", "https://api.example.com.evil.example/"),
        ("https://api.example.com", "https://api.example.com@evil.example/"),
        ("https://api.example.com", "https://api.example.com:8443/"),
        ("https://*.example.com", "https://evil.example/.example.com"),
        (FILES, "command:npx --registry=https://evil.example @acme/files"),
        (FILES, "command:npx @acme/files-more"),
    ],
)
def test_others_are_not_meant(pattern: str, where: str) -> None:
    """A similar place is another place."""
    assert not covers(pattern, where, exactly=False)


@pytest.mark.parametrize(
    ("allow", "deny", "reached", "key"),
    [
        (["*"], ["https://api.example.com"], ["https://api.example.com/v1"], "deny"),
        (["*"], ["https://api.example.com#secret"], ["https://api.example.com"], "deny"),
        (["*"], ["https://api.example.com#getSec*"], ["https://api.example.com"], "deny"),
        (["*"], ["https://api.example.com#GET /secret"], ["https://api.example.com"], "deny"),
        (["*"], ["https://api.example.com#tag:admin"], ["https://api.example.com"], "deny"),
        (["*"], ["https://api.example.com#other"], ["https://api.example.com"], ""),
        (["*"], ["upstream.secret"], ["https://api.example.com"], ""),
        (["*"], ["https://api.example.com"], ["https://proxy.example", "https://api.example.com"], "deny"),
        (["https://api.example.com"], [], ["https://api.example.com"], ""),
        (["https://api.example.com"], [], ["https://api.example.com", "https://evil.example"], "allow"),
        (["https://api.example.com"], [], ["https://evil.example"], "allow"),
        (["https://api.example.com#other"], [], ["https://api.example.com"], "allow"),
        (["https://api.example.com"], [], [], "allow"),
        (["other.*", "https://*.example.com"], ["up2.secret"], ["https://api.example.com"], "deny"),
    ],
)
def test_rules_by_upstream(allow: list[str], deny: list[str], reached: list[str], key: str) -> None:
    """A call is denied if any place that it may reach is, and allowed if all of them are."""
    assert Rules(allow, deny).forbids(SECRET, lambda: upstreams(reached)) == key


API = "https://api.example.com"


@pytest.mark.parametrize(
    ("deny", "base", "route"),
    [
        (f"{API}#DELETE /pages/*", API, "DELETE /pages/x"),
        (f"{API}#DELETE /pages/*", API, "DELETE /Pages/x"),
        (f"{API}#DELETE /pages/*", API, "DELETE //pages/x/"),
        (f"{API}#DELETE /pages/*", API, "DELETE /a/..%2fpages/%78"),
        (f"{API}#DELETE /pages/*", API, "DELETE /%2570ages;v=1/x"),
        (f"{API}#DELETE /pages/x", API, "DELETE /p%00ages/%EF%BD%98%3Fy"),
        (f"{API}#DELETE /pages/x", API, "DELETE /pages%5Cx%20"),
        (f"{API}#DELETE /pages/*", f"{API}/v1/pages", "DELETE /v1/pages/x"),
        (f"{API}#DELETE /v1/pages/*", f"{API}/v1/pages", "DELETE /v1/pages/x"),
        (f"{API}#DELETE /pages/{{page}}", API, "DELETE /pages/x"),
        (f"{API}#/pages/**", API, "PUT /pages"),
    ],
)
def test_a_route_is_denied_whatever_the_document_calls_it(deny: str, base: str, route: str) -> None:
    """What counts is what is sent, as servers may read it, not the words of a document or the division between it and
    `base_url`."""
    asked = Function("up2", "innocent", "GET /public/x", route="GET /{a}")
    rules = Rules(["*"], [deny])
    assert rules.forbids(asked, lambda: upstreams([base])) == ""
    assert rules.forbids_route(asked, route, lambda: upstreams([base])) == "deny"
    assert rules.forbids_route(asked, "GET /other/x", lambda: upstreams([base])) == ""
    assert rules.forbids_route(asked, route, lambda: upstreams(["https://b.example"])) == ""


@pytest.mark.parametrize(
    ("route", "key"),
    [
        ("GET /v1/public/x", ""),
        ("GET /v1/public/a%20b", ""),
        ("GET /v1/secret/x", "allow"),
        ("GET /v1/public/../secret", "allow"),
        ("GET /v1/public/..%2fsecret", "allow"),
        ("GET /v1/public/a%2f..%2f..%2fsecret", "allow"),
        ("GET /v1/PUBLIC/x", "allow"),
        ("DELETE /v1/public/x", "allow"),
    ],
)
def test_a_route_that_is_allowed_is_the_whole_path(route: str, key: str) -> None:
    """Each reading of the path must fit, from the origin on."""
    asked = Function("up2", "get", "getPublic", route="GET /public/{x}")
    rules, reached = Rules([f"{API}#GET /v1/public/*"], []), lambda: upstreams([f"{API}/v1"])
    assert rules.forbids(asked, reached) == ""
    assert rules.forbids_route(asked, route, reached) == key
    assert Rules([API], []).forbids_route(asked, route, reached) == ""
    assert Rules([f"{API}#GET /v1/public/{{x}}"], []).forbids_route(asked, route, reached) == key


def test_routes_of_requests_are_looked_at_only_by_rules_that_have_one() -> None:
    """Other policies cost a call nothing more."""
    rules = Rules(["*", f"{API}#GET /x"], ["up2.other", API])
    assert rules.forbids_route(SECRET, "GET /x", lambda: pytest.fail("asked")) == ""


def test_upstreams_are_asked_for_only_by_rules_that_name_one() -> None:
    """A policy of names costs no look at the settings of servers."""
    assert Rules(["up2.*"], ["up2.other"]).forbids(SECRET, lambda: pytest.fail("asked")) == ""


def test_a_socket_is_denied_by_whatever_way_leads_there(tmp_path: Path) -> None:
    """A relative path and a link are ways to the same socket."""
    (tmp_path / "link").symlink_to(tmp_path / "real.sock")
    for written in ("real.sock", "./x/../real.sock", "link"):
        (found,) = upstreams([f"socket:{written}"], tmp_path)
        assert UpstreamPattern(f"socket:{tmp_path}/real.sock").covers(found, exactly=False), written


@pytest.mark.parametrize("where", ["http://[zz]", "http://h:x", "http://ａ.example"])
def test_an_upstream_that_cannot_be_read_is_refused(where: str) -> None:
    """Nobody knows where it leads."""
    with pytest.raises(ConfigError, match="no URL"):
        upstreams([where])


@pytest.mark.parametrize("pattern", ["https://api.example.com/v1", "https://user@api.example.com", "https://a b"])
def test_a_pattern_that_fits_nothing_is_refused(pattern: str) -> None:
    """An origin has no path and no user: such a rule would guard nothing."""
    with pytest.raises(ValidationError, match="is no origin"):
        PolicySettings(deny=[pattern])


@pytest.mark.parametrize(
    "pattern",
    ["ftp://a.example", "wss://a.example", "https:a.example", "//a.example", " https://a", "unix:/x", "command:a 'b",
     "http://[1:2]", "https://ａ.example"],
)  # fmt: skip
def test_what_is_meant_as_an_upstream_is_one(pattern: str) -> None:
    """What looks like one is not taken for the name of a function, of which there is none."""
    with pytest.raises(ValidationError, match=r"names no upstream|No closing|At least 3 parts|hostname"):
        PolicySettings(deny=[pattern])


@pytest.mark.parametrize(
    "pattern", ["DELETE /users/*", "DELETE *", "/users/**", "up.secret ", "my up.secret", "GET /a.b"]
)
def test_a_route_without_an_upstream_is_refused(pattern: str) -> None:
    """It would fit no function: their names begin with their server."""
    with pytest.raises(ValidationError, match="names no function"):
        PolicySettings(deny=[pattern])


@pytest.mark.parametrize(
    "pattern",
    ["*GET /items", "[su]helf.GET /items", "shelf", "shelf.GET /items/*", "*", "mcp__a__b", "a.b:c", "s.x://y"],
)
def test_names_of_functions_are_no_upstreams(pattern: str) -> None:
    """An original id may hold anything."""
    assert PolicySettings(deny=[pattern]).deny == [pattern]


@pytest.mark.parametrize(
    ("pattern", "connected"),
    [
        *(("shop", True), ("shop.x", True), ("s*", True), ("*_delete", True), ("*.x", True), ("shop.*_x", True)),
        *(("sho", False), ("shops", False), ("shops.x", False), ("x*", False), ("shop_*", False), ("?hop.x", True)),
    ],
)
def test_a_server_of_which_nothing_is_allowed_is_not_connected_to(pattern: str, connected: bool) -> None:
    """A wildcard may stand for a dot, so only what comes before the first one tells."""
    assert (Rules([pattern], []).excludes("shop", upstreams(["https://shop.test/"])) == "") is connected
