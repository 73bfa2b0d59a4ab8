"""A path that can mean another function's is judged as a call of that one as well."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from doorward import InvalidArguments, Refused
from doorward_openapi import OpenAPI
from doorward_openapi.operations.routes import Routes

pytestmark = pytest.mark.anyio

PATHS = {
    "/users": "list_users",
    "/users/me": "get_me",
    "/users/{id}": "get_user",
    "/users/{id}/keys": "get_keys",
    "/users/{id}/keys/{key}.json": "get_key",
    "/files/{path}": "get_file",
    "/{a}/{b}/{c}/{d}": "any_four",
    "/x?do=a": "do_a",
    "/x?do={b}": "do_b",
}


@pytest.fixture
def gateway(host: Any, upstream: Any, document: Any) -> Any:
    def make(policy: str = "", server: str = "") -> Any:
        paths = {path: {"get": {"operationId": id}} for path, id in PATHS.items()}
        paths["/users/{id}/keys"]["post"] = {"operationId": "add_key"}
        paths["/users/{id}"]["post"] = {"operationId": "set_user"}
        (host.folder / "openapi.json").write_text(json.dumps(document(paths)))
        host.install("source", "openapi", OpenAPI)
        return host.gateway(f'''cache = "none"\nplugins = []\n{policy}
[servers.u]\nsource = "openapi"\nspec = "openapi.json"\nbase_url = "{upstream.url}/base"\n{server}\n''')

    return make


ATTACKS = [
    *(
        {"id": f"7{rest}"}
        for rest in ("/keys", "\\keys", "//keys/", ";a=b/KEYS", "%2Fkeys", "%252Fkeys", " /keys ", "/keys/1.json")
    ),
    *({"id": value} for value in ("\uff17\uff0fkeys", "me", "ME", "me/", "m%65", "me;x", "7/x/../keys")),
    {"a": "users", "b": "7", "c": "keys", "d": "1.json"},
    {"a": "users/7/keys", "b": "1.json", "c": ";", "d": ";"},
]
CLOSED = ["get_me", "get_keys", "get_key", "list_users"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("policy", "server"),
    [
        (f"[policy]\ndeny = {json.dumps([f'u.{name}' for name in CLOSED])}", ""),
        ("[policy]\nallow = ['u.get_user', 'u.get_file', 'u.any_four']", ""),
        ("[principals.local]\ndeny = ['u.get_me', 'u.get_k*', 'u.list*']", ""),
        ("", f"exclude = {json.dumps(CLOSED)}"),
        ("", "include = ['get_user', 'get_file', 'any_four']"),
    ],
    ids=["deny", "allow", "principal", "exclude", "include"],
)
async def test_openapi_no_value_reaches_a_function_that_is_closed(
    gateway: Any, upstream: Any, policy: str, server: str
) -> None:
    """Whatever closes a function, the path of another cannot be made its own: with slashes, by its very words, encoded,
    in capitals."""
    async with gateway(policy, server) as gate:
        for arguments in ATTACKS:
            with pytest.raises((Refused, InvalidArguments), match=r"can mean|another function"):
                await gate.call("u.get_user" if "id" in arguments else "u.any_four", arguments)
        assert upstream.seen == []
        for value in ("7", "7/photos", "a/b/c", "keys", "mine", "me2", "x/me"):
            await gate.call("u.get_user", {"id": value})
        await gate.call("u.get_file", {"path": "keys/7/keys"})
        await gate.call("u.any_four", {"a": "users", "b": "7", "c": "keys", "d": "1.xml"})


async def test_openapi_what_may_be_called_anyway_may_be_reached(gateway: Any, upstream: Any) -> None:
    """Where both functions are open nothing is refused, nor for another method's sake."""
    async with gateway("[policy]\ndeny = ['u.add_key']") as gate:
        for value in ("7/keys", "me", "7/keys/1.json"):
            await gate.call("u.get_user", {"id": value})
        with pytest.raises(Refused, match=r"can mean POST /users/\{id\}/keys, which may not be called"):
            await gate.call("u.set_user", {"id": "7/keys"})
    assert len(upstream.seen) == 3


def routes(*paths: str) -> Routes:
    return Routes({"GET": [[path, path] for path in paths]})


@pytest.mark.parametrize(
    ("template", "sent", "others"),
    [
        ("/a/{x}", "/a/b", ["/a/b"]),
        ("/a/{x}", "/a/b.json", []),
        ("/a/{x}", "/a/c%2Fd", ["/a/{x}/d", "/a/{x}/{y}"]),
        ("/a/{x}/d", "/a/c/d", []),
        ("/a/{x}/{y}", "/a/c/d", ["/a/{x}/d"]),
        ("/a/{x}/{y}", "/a/b/e", []),
        ("/a/b", "/a/b", []),
        ("/a/{z}", "/a/q", []),
    ],
)
def test_openapi_the_more_literal_route_is_meant(template: str, sent: str, others: list[str]) -> None:
    """Of several that fit, those before a function's own are others; its own under other names of variables is none."""
    found = routes("/a/{x}", "/a/b", "/a/{x}/d", "/a/{x}/{y}", "/b")
    assert [route.path for route in found.others("GET", template, sent)] == others


@pytest.mark.parametrize(
    ("template", "query", "others"),
    [
        ("/x", "", []),
        ("/x", "comp=acl", ["/x?comp=acl"]),
        ("/x", "q=1&%63omp=acl", ["/x?comp=acl"]),
        ("/x", "C%4FMP=Acl", ["/x?comp=acl"]),
        ("/x", "comp=acl&comp=list&all=", ["/x?comp=acl", "/x?comp=list&all"]),
        ("/x", "comp=list", []),
        ("/x?comp=acl", "comp=acl", []),
        ("/x?comp=acl", "comp=acl&all=1&comp=list", []),
        ("/x?comp=list&all", "comp=list&all&comp=acl", ["/x?comp=acl"]),
        ("/x?q={q}", "q=7&comp=acl", ["/x?comp=acl"]),
        ("/{z}", "comp=acl", ["/x", "/x?comp=acl", "/x?comp=list&all", "/x?q={q}"]),
    ],
)
def test_openapi_the_route_whose_query_is_sent_is_meant(template: str, query: str, others: list[str]) -> None:
    """Of path keys that differ in their query, one is meant whose query is part of what is sent."""
    found = routes("/x", "/x?comp=acl", "/x?comp=list&all", "/x?q={q}", "/{y}")
    assert [route.path for route in found.others("GET", template, "/x", query)] == others


async def test_openapi_a_query_reaches_no_function_that_is_closed(host: Any, upstream: Any, document: Any) -> None:
    """The parameters of one operation cannot make it another one that the policy denies, though no path has a
    variable."""
    comp, q = ({"name": name, "in": "query", "schema": {"type": "string"}} for name in ("comp", "q"))
    read = {"/x": {"get": {"operationId": "read", "parameters": [comp, q]}}}
    acl = {"/x?comp=acl": {"get": {"operationId": "acl", "parameters": [q]}}}
    (host.folder / "openapi.json").write_text(json.dumps(document(read, **{"x-ms-paths": acl})))
    host.install("source", "openapi", OpenAPI)
    server = f'[servers.u]\nsource = "openapi"\nspec = "openapi.json"\nbase_url = "{upstream.url}"'
    async with host.gateway(f"cache = 'none'\nplugins = []\n[policy]\ndeny = ['u.acl']\n{server}\n") as gate:
        for value in ("acl", "ACL"):
            with pytest.raises(Refused, match=r"can mean GET /x\?comp=acl, which may not be called"):
                await gate.call("u.read", {"comp": value})
        for arguments in ({"comp": "other"}, {"q": "comp=acl"}, {"q": "1&comp=acl"}):
            await gate.call("u.read", arguments)
    assert [seen["path"] for seen in upstream.seen] == ["/x?comp=other", "/x?q=comp%3Dacl", "/x?q=1%26comp%3Dacl"]


async def test_openapi_a_variable_of_a_query_reaches_no_function_that_is_closed(gateway: Any) -> None:
    """Nor can a variable in the query of a path key."""
    async with gateway("[policy]\ndeny = ['u.do_a']") as gate:
        await gate.call("u.do_b", {"b": "c"})
        with pytest.raises(Refused, match=r"can mean GET /x\?do=a"):
            await gate.call("u.do_b", {"b": "a"})


@pytest.mark.slow
def test_openapi_many_routes_cost_little() -> None:
    """A document of many variables and ten thousand routes is looked through along the path alone."""
    many = routes(
        *[f"/{{a}}/{{b}}/p{n}/{{c}}" for n in range(10_000)], *["/" + "/".join(["{x}"] * n) for n in range(1, 200)]
    )
    assert next(many.others("GET", "/{a}", "/1/2/p7/3")).path == "/{a}/{b}/p7/{c}"
    assert len([*many.others("GET", "/{a}", "/x" * 199)]) == 1


@pytest.mark.skipif(not os.environ.get("DOORWARD_SPECS"), reason="DOORWARD_SPECS does not name the folder of documents")
@pytest.mark.parametrize(
    ("file", "template", "sent"),
    [
        ("github.json.zst", "/repos/{owner}/{repo}/contents/{path}", "/repos/o/r/contents/docs%2Fissues%2Fkeys.md"),
        ("github.json.zst", "/repos/{owner}/{repo}/git/ref/{ref}", "/repos/o/r/git/ref/heads%2Ffeature%2Fa"),
        ("github.json.zst", "/repos/{owner}/{repo}", "/repos/o/r"),
    ],
)
@pytest.mark.slow
def test_openapi_plain_values_of_real_documents_are_nobody_elses(file: str, template: str, sent: str) -> None:
    """Paths of files and names of branches, in GitHub's own document."""
    from doorward_http import zstd_module as zstd

    paths = json.loads(zstd().decompress((Path(os.environ["DOORWARD_SPECS"]) / file).read_bytes()))["paths"]
    assert [*routes(*paths).others("GET", template, sent)] == []


SCOPED = {
    "/{scope}/locks/{name}": "get_lock",
    "/{scope}/locks": "list_locks",
    "/{id}": "get_anything",
    "/{scope}/locks/{name}/keys/{key}": "get_key",
    "/subs/{sub}/locks/{name}": "get_sub_lock",
    "/subs/{sub}": "get_sub",
}


def scoped(version: str) -> dict[str, Any]:
    """A document whose first variables may hold slashes, but for those of `/subs`."""
    about = {"in": "path", "required": True, "x-ms-skip-url-encoding": True}
    typed = {"type": "string"} if version == "2.0" else {"schema": {"type": "string"}}
    paths = {
        path: {
            "get": {
                "operationId": id,
                "parameters": [{"name": n, **about, **typed} for n in ("scope", "id") if f"/{{{n}}}" in path],
            }
        }
        for path, id in SCOPED.items()
    }
    return {
        "swagger" if version == "2.0" else "openapi": version,
        "info": {"title": "t", "version": "1"},
        "paths": paths,
    }


@pytest.fixture
def locks(host: Any, upstream: Any) -> Any:
    host.install("source", "openapi", OpenAPI)

    def make(version: str, policy: str = "") -> Any:
        (host.folder / "openapi.json").write_text(json.dumps(scoped(version)))
        return host.gateway(f'''cache = "none"\nplugins = []\n{policy}
[servers.u]\nsource = "openapi"\nspec = "openapi.json"\nbase_url = "{upstream.url}/base"\n''')

    return make


@pytest.mark.parametrize("version", ["2.0", "3.1.0"])
async def test_openapi_a_variable_may_span_parts_of_the_path(locks: Any, version: str) -> None:
    """`x-ms-skip-url-encoding`: slashes of a value and what is encoded in it stay; what ends a path, and dots, do
    not."""
    async with locks(version) as gate:
        for given, sent in (
            ("subs/1/groups/a b", "subs/1/groups/a%20b"),
            ("/subs/1/", "subs/1"),
            ("subs/a%2Fb?x=1#y", "subs/a%2Fb%3Fx=1%23y"),
        ):
            assert (await gate.call("u.get_lock", {"scope": given, "name": "n/1"}))[
                "path"
            ] == f"/base/{sent}/locks/n%2F1"
        for given in ("subs/../admin", "a/%2e%2e/b", "a/..;x/b", "", "//", "/"):
            with pytest.raises(InvalidArguments):
                await gate.call("u.get_lock", {"scope": given, "name": "n"})


@pytest.mark.parametrize(("example", "sent"), [("opa/examples/servers", "app/allow"), ("servers", "app%2Fallow")])
async def test_openapi_reserved_characters_with_an_example_of_several_parts(
    host: Any, upstream: Any, example: str, sent: str
) -> None:
    """`allowReserved` alone leaves a path value one part; one whose own example has slashes is several, as in Open
    Policy Agent's document."""
    host.install("source", "openapi", OpenAPI)
    about = {"name": "path", "in": "path", "required": True, "allowReserved": True, "example": example}
    get = {"operationId": "get", "parameters": [{**about, "schema": {"type": "string"}}]}
    document = {"openapi": "3.0.3", "info": {"title": "t", "version": "1"}, "paths": {"/data/{path}": {"get": get}}}
    (host.folder / "openapi.json").write_text(json.dumps(document))
    server = f'[servers.u]\nsource = "openapi"\nspec = "openapi.json"\nbase_url = "{upstream.url}"\n'
    async with host.gateway(f'cache = "none"\nplugins = []\n{server}') as gate:
        assert (await gate.call("u.get", {"path": "app/allow"}))["path"] == f"/data/{sent}"
        with pytest.raises(InvalidArguments):
            await gate.call("u.get", {"path": "app/../admin"})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("function", "arguments", "meant"),
    [
        ("get_lock", {"scope": "subs/1", "name": "n"}, "get_sub_lock"),
        ("get_lock", {"scope": "a/b", "name": "n/keys/k"}, "get_key"),
        ("get_lock", {"scope": "a/b/locks/n/keys/k/locks", "name": "n"}, ""),
        ("get_lock", {"scope": "a/b", "name": "n"}, ""),
        ("get_anything", {"id": "a/b/locks/n"}, "get_lock"),
        ("get_anything", {"id": "a/b/c/locks"}, "list_locks"),
        ("get_anything", {"id": "a/b/LOCKS%2Fn%2fkeys/k"}, "get_key"),
        ("get_anything", {"id": "subs/7"}, "get_sub"),
        ("get_anything", {"id": "a/b/c"}, ""),
        ("get_sub", {"sub": "7/a/locks/n"}, "get_lock"),
        ("get_sub", {"sub": "7/a/b"}, "get_anything"),
        ("get_sub", {"sub": "7"}, ""),
        ("get_sub", {"sub": "x/" * 1200}, "get_lock"),
    ],
)
async def test_openapi_what_spans_parts_is_judged_as_what_it_reaches(
    locks: Any, upstream: Any, function: str, arguments: dict[str, str], meant: str
) -> None:
    """A path that a variable with slashes makes, or that one can stand for, is no way to a function that may not be
    called."""
    closed = [meant] if meant else [id for id in SCOPED.values() if id != function]
    async with locks("2.0", f"[policy]\ndeny = {json.dumps([f'u.{id}' for id in closed])}") as gate:
        if not meant:
            await gate.call(f"u.{function}", arguments)
            return
        with pytest.raises(Refused, match="which may not be called"):
            await gate.call(f"u.{function}", arguments)
    assert upstream.seen == []
    async with locks("2.0") as gate:
        await gate.call(f"u.{function}", arguments)


def test_openapi_a_link_to_what_spans_parts_reaches_it() -> None:
    """Redirects and links are judged by such routes, too, unless another one is more literal."""
    found = Routes(
        {"GET": [["/{scope}/locks", "a", ["scope"]], ["/subs/{id}", "b"], ["/{x}", "c", ["x"]]], "": ["/v1"]}
    )
    at = "http://a/v1/"
    assert [id for id, _ in found.meant("GET", f"{at}subs/1/x/locks", at)] == ["a", "c"]
    assert [id for id, _ in found.meant("GET", f"{at}subs/locks", at)] == ["b", "a"]
    assert [id for id, _ in found.meant("GET", f"{at}subs/1", at)] == ["b"]


def test_openapi_a_query_chooses_of_routes_that_span_parts() -> None:
    """Of two that are told apart by their query alone, the one is meant whose query is sent."""
    scope = ["scope"]
    found = Routes({"GET": [["/{scope}/locks", "a", scope], ["/{scope}/locks?comp=acl", "b", scope]], "": ["/v1"]})
    for query, others in (("", []), ("comp=acl", ["b"]), ("comp=list", [])):
        assert [r.id for r in found.others("GET", "/{scope}/locks", "/1/2/locks", query)] == others
        meant = found.meant("GET", f"http://a/v1/1/2/locks?{query}", "http://a/v1")
        assert [id for id, _ in meant] == (others or ["a"])
    assert [r.id for r in found.others("GET", "/{scope}/locks?comp=acl", "/1/2/locks", "comp=acl")] == []
