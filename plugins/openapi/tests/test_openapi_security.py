"""Security schemes → suggestions for `auth`."""

from __future__ import annotations

import os
import re
import tomllib
from pathlib import Path

import pytest
from doorward import ApiError, ServerContext
from doorward_openapi import OpenAPI
from hypothesis import given, settings
from hypothesis import strategies as st

pytestmark = pytest.mark.anyio

TOKENS = {"authorizationUrl": "https://api.example/authorize", "tokenUrl": "https://api.example/token", "scopes": {}}
CLIENT = {"client_id": "${API_CLIENT_ID}", "client_secret": "${API_CLIENT_SECRET}"}
JWT = {"type": "jwt", "token": "${API_TOKEN}"}


def described(schemes, *securities, **more):
    """A document with an operation for each `security`; `None` is none of its own."""
    paths = {
        f"/{n}": {"get": {} if s is None else {"security": s}}
        for n, s in enumerate(securities or [[{name: [] for name in schemes}]])
    }
    servers = [{"url": "https://api.example/v1"}]
    return {"openapi": "3.2.0", "servers": servers, "paths": paths, "components": {"securitySchemes": schemes}, **more}


async def suggested(api, document, **settings):
    made = await api(document, **{"base_url": None, **settings})
    return made.compiled


def flow(name, **more):
    return {"type": "oauth2", "flows": {name: {**TOKENS, **more}}}


@pytest.mark.parametrize(
    ("scheme", "table"),
    [
        (
            {"type": "http", "scheme": "Basic"},
            {"type": "basic", "username": "${API_USERNAME}", "password": "${API_PASSWORD}"},
        ),
        ({"type": "http", "scheme": "bearer", "bearerFormat": "JWT"}, JWT),
        (
            {"type": "apiKey", "in": "header", "name": "X-Key"},
            {"type": "api_key", "name": "X-Key", "value": "${API_KEY}"},
        ),
        (
            {"type": "apiKey", "in": "query", "name": "k[e]y"},
            {"type": "api_key", "name": "k[e]y", "in": "query", "value": "${API_KEY}"},
        ),
        (
            {"type": "apiKey", "in": "cookie", "name": "sid"},
            {"type": "api_key", "name": "sid", "in": "cookie", "value": "${API_KEY}"},
        ),
        (
            {"type": "apiKey", "in": "header", "name": "authorization"},
            {"type": "static", "value": "${API_AUTHORIZATION}"},
        ),
        ({"type": "apiKey", "in": "header", "name": "Authorization", "description": "Send `Bearer <token>`"}, JWT),
        (
            {
                "type": "apiKey",
                "in": "header",
                "name": "Authorization",
                "description": "like `Authorization: Token {key}`, not a bearer",
            },
            {"type": "static", "value": "Token ${API_TOKEN}"},
        ),
        (
            {
                "type": "apiKey",
                "in": "header",
                "name": "Authorization",
                "description": 'must be prepended with "token" and a space',
            },
            {"type": "static", "value": "token ${API_TOKEN}"},
        ),
        (
            flow("clientCredentials"),
            {"type": "oauth2", "flow": "client_credentials", "token_url": "https://api.example/token", **CLIENT},
        ),
        (
            flow("authorizationCode"),
            {
                "type": "oauth2",
                "flow": "authorization_code",
                "token_url": "https://api.example/token",
                "authorization_url": "https://api.example/authorize",
                **CLIENT,
            },
        ),
        (
            flow("deviceAuthorization", deviceAuthorizationUrl="/device"),
            {
                "type": "oauth2",
                "flow": "device_code",
                "token_url": "https://api.example/token",
                "device_authorization_url": "https://api.example/device",
                **CLIENT,
            },
        ),
        (
            flow("password"),
            {
                "type": "oauth2",
                "flow": "password",
                "token_url": "https://api.example/token",
                **CLIENT,
                "username": "${API_USERNAME}",
                "password": "${API_PASSWORD}",
            },
        ),
        (flow("implicit"), JWT),
        (
            {
                "type": "openIdConnect",
                "openIdConnectUrl": "https://api.example/realms/x/.well-known/openid-configuration",
            },
            {"type": "oauth2", "issuer": "https://api.example/realms/x"},
        ),
        (
            {
                "type": "oauth2",
                "flows": {},
                "oauth2MetadataUrl": "https://api.example/.well-known/oauth-authorization-server/tenant",
            },
            {"type": "oauth2", "issuer": "https://api.example/tenant"},
        ),
    ],
)
async def test_openapi_scheme_suggests(api, scheme, table):
    """CONTRACT: AUT-01 Each kind of security scheme suggests its auth, with variables named by the server."""
    compiled = await suggested(api, described({"one": scheme}))
    assert (compiled.needing_auth, list(compiled.auth[0].auth), compiled.auth[0].serves) == (1, [table], 1)
    assert compiled.auth[0].elsewhere == ()


@pytest.mark.parametrize(
    ("scheme", "table"),
    [
        ({"type": "basic"}, {"type": "basic", "username": "${API_USERNAME}", "password": "${API_PASSWORD}"}),
        (
            {"type": "apiKey", "in": "query", "name": "key"},
            {"type": "api_key", "name": "key", "in": "query", "value": "${API_KEY}"},
        ),
        (
            {"type": "oauth2", "flow": "application", "tokenUrl": "https://api.example/token"},
            {"type": "oauth2", "flow": "client_credentials", "token_url": "https://api.example/token", **CLIENT},
        ),
    ],
)
async def test_openapi_swagger_scheme_suggests(api, scheme, table):
    """`securityDefinitions` of 2.0, with the words of that version."""
    paths = {"/x": {"get": {}}, "/y": {"get": {"security": []}}}
    document = {
        "swagger": "2.0",
        "host": "api.example",
        "paths": paths,
        "securityDefinitions": {"one": scheme},
        "security": [{"one": []}],
    }
    compiled = await suggested(api, document)
    assert (compiled.needing_auth, list(compiled.auth[0].auth)) == (1, [table])


KEY, OTHER = ({"type": "apiKey", "in": "header", "name": name} for name in ("X-Key", "X-App"))
BEARER, BASIC = ({"type": "http", "scheme": scheme} for scheme in ("bearer", "basic"))


async def test_openapi_what_serves_most_comes_first(api):
    """OR between requirements, AND within one; `[]` and `{}` need nothing; what serves more operations is better."""
    schemes = {"key": KEY, "app": OTHER, "bearer": BEARER}
    needs = [
        [{"key": [], "app": []}],
        [{"key": [], "app": []}, {"bearer": []}],
        [{"key": []}],
        [{"bearer": []}],
        [],
        [{"bearer": []}, {}],
    ]
    compiled = await suggested(api, described(schemes, *needs))
    assert compiled.needing_auth == 4
    assert [(s.serves, [t["type"] for t in s.auth]) for s in compiled.auth] == [
        (3, ["api_key"] * 2),
        (2, ["jwt"]),
        (1, ["api_key"]),
    ]
    assert {t["name"]: t["value"] for t in compiled.auth[0].auth} == {"X-App": "${API_KEY}", "X-Key": "${API_KEY_2}"}


async def test_openapi_two_do_not_stand_in_one_place(api):
    """Basic and bearer together cannot be had; two flows of OAuth together are one token."""
    assert not (await suggested(api, described({"one": BASIC, "two": BEARER}))).auth
    flows = {"one": flow("implicit"), "two": flow("authorizationCode")}
    compiled = await suggested(api, described(flows, [{"one": ["a"], "two": ["b"]}]))
    assert [t["scope"] for t in compiled.auth[0].auth] == [["a", "b"]]


async def test_openapi_the_default_is_for_operations_without_their_own(api):
    compiled = await suggested(api, described({"b": BEARER}, None, [], security=[{"b": []}]))
    assert (compiled.needing_auth, compiled.auth[0].serves) == (1, 1)


async def test_openapi_declared_and_never_used(api):
    """What no operation asks for is suggested for none."""
    compiled = await suggested(api, described({"b": BEARER}, None))
    assert (compiled.needing_auth, [(s.serves, list(s.auth)) for s in compiled.auth]) == (0, [(0, [JWT])])


async def test_openapi_public(api, document):
    compiled = await suggested(api, document({"/x": {"get": {}}}))
    assert (compiled.needing_auth, list(compiled.auth)) == (0, [])


async def test_openapi_a_header_that_is_set_needs_no_auth(api):
    compiled = await suggested(
        api, described({"k": KEY, "b": BEARER}, [{"k": []}], [{"b": []}]), headers={"x-key": "1"}
    )
    assert (compiled.needing_auth, [list(s.auth) for s in compiled.auth]) == (1, [[JWT]])


async def test_openapi_tokens_need_a_base_url(api):
    """What is fetched goes to the configured place only: who takes the suggestion is told so at once."""
    says = "OAuth 2 with a login (authorization code), by `doorward login api`"
    first, *_ = (await suggested(api, described({"o": flow("authorizationCode")}))).auth
    assert first.says == f"{says}, once base_url is set (the document says https://api.example/v1)"
    first, *_ = (
        await suggested(api, described({"o": flow("authorizationCode")}), base_url="https://api.example/v1")
    ).auth
    assert first.says == says


@pytest.mark.parametrize(
    ("scheme", "says"),
    [
        ({"type": "mutualTLS"}, "mutual TLS"),
        ({"type": "http", "scheme": "digest"}, "HTTP digest"),
        (
            {"type": "apiKey", "in": "header", "name": "Authorization", "x-amazon-apigateway-authtype": "awsSigv4"},
            "the AWS signature",
        ),
        ({"type": "apiKey", "in": "header", "name": "Content-Length"}, "place cannot be understood"),
        ({"type": "apiKey", "in": "body", "name": "x"}, "place cannot be understood"),
    ],
)
async def test_openapi_unsupported_is_said(api, scheme, says):
    compiled = await suggested(api, described({"one": scheme}))
    assert (compiled.needing_auth, list(compiled.auth)) == (1, [])
    assert [w for w in compiled.warnings if says in w and w.endswith("is not supported")]


async def test_openapi_scopes(api):
    """The scopes that operations need, if they are few enough to ask for at once."""
    code = {"oauth": flow("authorizationCode")}
    few = await suggested(api, described(code, [{"oauth": ["b", "a"]}], [{"oauth": ["c", "in valid"]}]))
    assert few.auth[0].auth[0]["scope"] == ["a", "b", "c"]
    many = await suggested(api, described(code, [{"oauth": [f"s{n}" for n in range(21)]}]))
    assert "scope" not in many.auth[0].auth[0]


@pytest.mark.parametrize("base", [None, "https://api.example/v1"])
@pytest.mark.parametrize("url", ["https://evil.example/token", "//evil.example/token", "https://api.example:444/token"])
async def test_openapi_secrets_go_nowhere_unsaid(api, url, base):
    """A token URL of another origin than the API's is told, for a secret would go there."""
    scheme = {"type": "oauth2", "flows": {"clientCredentials": {"tokenUrl": url, "scopes": {}}}}
    first, second = (await suggested(api, described({"one": scheme}), base_url=base)).auth
    assert first.elsewhere == (first.auth[0]["token_url"],)
    assert (list(second.auth), second.elsewhere) == ([JWT], ())


async def test_a_login_page_elsewhere_is_said(api):
    """A person types a password there: a document alone says nothing about whose page that is."""
    page = "https://api.example.evil.example/authorize"
    compiled = await suggested(api, described({"a": flow("authorizationCode", authorizationUrl=page)}))
    assert compiled.auth[0].elsewhere == (page,)


@pytest.mark.parametrize(
    "url",
    [
        "http://api.example/token",
        "javascript:x",
        "https://u:p@api.example/",
        "https://api.example/${HOME}",
        "https://a\n.b/",
        "x" * 9999,
        7,
    ],
)
async def test_openapi_token_urls_that_cannot_be(api, url):
    """Plain http, credentials, references, control characters: what is left is a token that one has."""
    scheme = {"type": "oauth2", "flows": {"clientCredentials": {"tokenUrl": url, "scopes": {}}}}
    found = (await suggested(api, described({"one": scheme}))).auth
    assert [list(s.auth) for s in found] == [[JWT]]


TEXT = st.text(max_size=40) | st.sampled_from(
    ["${AWS_SECRET_ACCESS_KEY}", "$${X}", "a\n[servers.x]", '"', "'''", "\x00", "\udc00", "x}"]
)
HOSTILE = st.recursive(
    TEXT | st.none() | st.integers(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=5,
)
SCHEME = st.fixed_dictionaries(
    {"type": st.sampled_from(["http", "apiKey", "oauth2", "openIdConnect", "basic", "mutualTLS"]) | HOSTILE},
    optional={
        "scheme": st.sampled_from(["basic", "bearer"]) | HOSTILE,
        "in": st.sampled_from(["header", "query", "cookie"]) | HOSTILE,
        "name": st.sampled_from(["Authorization", "key", "${HOME}"]) | HOSTILE,
        "description": TEXT,
        "openIdConnectUrl": TEXT.map(lambda t: f"https://api.example/{t}/.well-known/openid-configuration") | HOSTILE,
        "flow": st.sampled_from(["application", "accessCode"]) | HOSTILE,
        "tokenUrl": HOSTILE,
        "flows": st.dictionaries(
            st.sampled_from(["clientCredentials", "authorizationCode", "password"]),
            st.fixed_dictionaries(
                {"tokenUrl": TEXT.map(lambda t: f"https://api.example/{t}") | HOSTILE, "authorizationUrl": HOSTILE}
            )
            | HOSTILE,
        )
        | HOSTILE,
    },
)
KEYS = {
    "type", "name", "in", "value", "token", "username", "password", "flow", "token_url", "authorization_url", "issuer", "client_id",
    "client_secret", "scope",
}  # fmt: skip


@pytest.mark.slow
@settings(deadline=None)
@given(st.dictionaries(TEXT, SCHEME, min_size=1, max_size=3), st.lists(TEXT, max_size=3))
def test_openapi_hostile_schemes(schemes, scopes):
    """Whatever a document holds, what is written parses as TOML, has our keys only, and names our variables only."""
    from doorward.secrets.store import Secrets
    from doorward_cli.servers import block
    from doorward_openapi.document.refs import Bundle
    from doorward_openapi.operations.compiler import compile_document

    document = described(schemes, *([{name: scopes}] for name in schemes))
    import json

    compiled = compile_document("api", Bundle("file:///d.json", {"file:///d.json": json.dumps(document).encode()}))
    for suggestion in compiled.auth:
        tables = [dict(table) for table in suggestion.auth]
        text = block("api", {"source": "openapi", "auth": tables})
        assert tomllib.loads(text) == {"servers": {"api": {"source": "openapi", "auth": tables}}}
        for table in tables:
            assert set(table) <= KEYS
            for value in table.values():
                for part in value if isinstance(value, list) else [value]:
                    named = set(re.findall(r"(?<!\$)\$\{([^}]*)\}", part.replace("$${", "")))
                    assert all(name.startswith("API_") for name in named), part
                    Secrets(environ=dict.fromkeys(named, "x")).expand(part)  # nothing else is a reference


async def test_openapi_a_call_without_credentials_says_which(tmp_path, upstream):
    """401 where no auth is configured: the hint of core, else the general one."""
    import json

    from doorward import Call

    upstream.answers["/0"] = (401, {}, b"")
    (tmp_path / "d.json").write_text(json.dumps(described({"b": BEARER})))
    options = OpenAPI.Settings(spec="d.json", base_url=upstream.url)
    for suggest, hint in ((lambda: "add auth", "add auth"), (str, "The credentials are missing")):
        source = OpenAPI(ServerContext("api", options, tmp_path, tmp_path, suggest=suggest))
        function = (await source.compile()).functions[0]
        with pytest.raises(ApiError) as raised:
            await source.call(Call(function, {}))
        assert raised.value.hint.startswith(hint)
        await source.close()


@pytest.mark.parametrize("open_to_all", [True, False])
async def test_openapi_a_document_needs_no_variables(tmp_path, upstream, open_to_all):
    """CONTRACT: AUT-18 A document that is open to all compiles while the credentials of its calls are not set; another
    says what lacks."""
    import json

    import httpx2
    from doorward import MissingSecret

    class Lacking(httpx2.Auth):
        def auth_flow(self, request):
            raise MissingSecret("${API_TOKEN} has no value")
            yield request

    upstream.answers["/d.json"] = (200 if open_to_all else 401, {}, json.dumps(described({"b": BEARER})).encode())
    options = OpenAPI.Settings(spec=f"{upstream.url}/d.json", base_url=upstream.url)
    source = OpenAPI(ServerContext("api", options, tmp_path, tmp_path, Lacking))
    try:
        if open_to_all:
            assert len((await source.compile()).functions) == 1
        else:
            with pytest.raises(MissingSecret, match="API_TOKEN"):
                await source.compile()
    finally:
        await source.close()


SPECS = Path(os.environ.get("DOORWARD_SPECS", ""))


@pytest.mark.skipif(
    not os.environ.get("DOORWARD_SPECS"), reason="the folder of documents is absent: DOORWARD_SPECS names it"
)
@pytest.mark.parametrize(
    ("name", "closed", "types", "serves"),
    [
        ("stripe-2023-09-12.yaml.zst", 468, ["jwt"], 468),
        ("slack_web_v2.json.zst", 174, ["oauth2"], 174),
        ("kubernetes-swagger.json.zst", 1123, ["jwt"], 1123),
        ("datadog-v1.yaml.zst", 234, ["api_key", "api_key"], 234),
        ("influxdb-oss.yml.zst", 225, ["static"], 222),
        ("twilio_api_v2010.json.zst", 197, ["basic"], 197),
        ("nasa-apod.json", 1, ["api_key"], 1),
        ("google-gmail.json.zst", 79, ["oauth2"], 79),
        ("xero-files.yaml", 18, ["oauth2"], 18),
        ("github.json.zst", 0, [], 0),
    ],
)
@pytest.mark.slow
async def test_openapi_real_documents_suggest(name, closed, types, serves):
    source = OpenAPI(ServerContext("api", OpenAPI.Settings(spec=str(SPECS / name)), SPECS, SPECS))
    compiled = await source.compile()
    first = compiled.auth[0] if compiled.auth else None
    assert (compiled.needing_auth, [t["type"] for t in first.auth] if first else [], first.serves if first else 0) == (
        closed,
        types,
        serves,
    )
