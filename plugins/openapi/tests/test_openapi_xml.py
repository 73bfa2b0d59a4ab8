"""XML answers: read by their schema, as bodies are written by it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from doorward_openapi import OpenAPI
from doorward_openapi.wire import xml, xml_reading
from doorward_text import signature

from .test_openapi_bodies import PET, TAG

pytestmark = pytest.mark.anyio
TEXT, NUMBER = {"type": "string"}, {"type": "integer"}
XML = {"Content-Type": "application/xml"}


def answers(schema: Any, media: str = "application/xml") -> Any:
    return {"200": {"content": {media: {"schema": schema}}}}


async def test_openapi_xml_answer_is_what_was_written(api: Any, document: Any, upstream: Any) -> None:
    """An object that was sent comes back as itself: names, attributes, wrapped and plain lists, namespaces, types."""
    ref = {"$ref": "#/components/schemas/Pet"}
    content = {"application/xml": {"schema": ref}}
    post = {"operationId": "op", "requestBody": {"content": content}, "responses": {"200": {"content": content}}}
    made = await api(document({"/x": {"post": post}}, components={"schemas": {"Pet": PET, "Tag": TAG}}))
    upstream.answers["/x"] = lambda told: (200, XML, told["body"].encode("latin-1"))
    value = {"id": 7, "name": "a<&>\"'ü", "photoUrls": ["u", "v"], "aliases": ["x"], "ok": "true",
             "tags": [{"label": "1"}, {}], "parent": {"id": 1, "tags": []}}  # fmt: skip
    assert await made.call("op", body=value) == value
    assert "-> OpResponse" in signature(made.functions["op"], made.compiled.definitions.get)


ITEM = {"type": "object", "xml": {"name": "Item"}, "properties": {"n": NUMBER}}
ITEMS = {"type": "array", "items": ITEM}
OPEN = {"type": "object", "additionalProperties": NUMBER}
CASES = {
    "types": (
        {"type": "object", "properties": {"a": NUMBER, "b": {"type": "number"}, "c": {"type": "boolean"}, "d": TEXT}},
        "<x><a> 7 </a><b>1.5</b><c>false</c><d> t </d></x>",
        {"a": 7, "b": 1.5, "c": False, "d": " t "},
    ),
    "types that are not so": (
        {"type": "object", "properties": {"a": NUMBER, "b": {"type": ["boolean", "null"]}, "c": {"type": "number"}}},
        "<x><a>seven</a><b>maybe</b><c>NaN</c></x>",
        {"a": "seven", "b": "maybe", "c": "NaN"},
    ),
    "what is empty": (
        {"type": "object", "properties": {"a": NUMBER, "d": TEXT, "l": ITEMS, "w": {**ITEMS, "xml": {"wrapped": True}}}},
        "<x><a/><d/><w/></x>",
        {"a": None, "d": "", "l": [], "w": []},
    ),
    "null": (
        {"type": "object", "properties": {"a": TEXT}},
        '<x xmlns:i="http://www.w3.org/2001/XMLSchema-instance"><a i:nil="true"/></x>',
        {"a": None},
    ),
    "a list": (ITEMS, "<Items><Item><n>1</n></Item><Item><n>2</n></Item></Items>", [{"n": 1}, {"n": 2}]),
    "an empty list": (ITEMS, "<Items/>", []),
    "a wrapped list": (
        {"type": "object", "properties": {"l": {**ITEMS, "xml": {"name": "Items", "wrapped": True}}}},
        "<x><Items><Item><n>1</n></Item></Items></x>",
        {"l": [{"n": 1}]},
    ),
    "a list of one": ({"type": "object", "properties": {"l": ITEMS}}, "<x><Item><n>1</n></Item></x>", {"l": [{"n": 1}]}),
    "a text with attributes": (
        {"type": "object", "properties": {"lang": {**TEXT, "xml": {"attribute": True}}, "t": {**TEXT, "xml": {"nodeType": "text"}}}},
        '<x lang="de">ja</x>',
        {"lang": "de", "t": "ja"},
    ),
    "a text by an extension": (
        {"type": "object", "properties": {"lang": {**TEXT, "xml": {"attribute": True}}, "t": {**TEXT, "xml": {"x-ms-text": True}}}},
        '<x lang="de">ja</x>',
        {"lang": "de", "t": "ja"},
    ),
    "a text that no property is": (
        {"type": "object", "properties": {"lang": {**TEXT, "xml": {"attribute": True}}, "t": TEXT}},
        '<x lang="de">ja</x>',
        {"lang": "de", "text": "ja"},
    ),
    "names of a map": (OPEN, "<x><a>1</a><b>2</b></x>", {"a": 1, "b": 2}),
    "two of a name": (
        {"type": "object", "properties": {
            "a": {**TEXT, "xml": {"name": "n", "namespace": "urn:a"}}, "b": {**TEXT, "xml": {"name": "n", "namespace": "urn:b"}}}},
        '<x xmlns:p="urn:b"><p:n>b</p:n><n xmlns="urn:a">a</n></x>',
        {"a": "a", "b": "b"},
    ),
    "more than the schema says": (
        {"type": "object", "properties": {"a": NUMBER}},
        '<x v="2"><a>1</a><b><c>2</c><c w="3">4</c></b><d>5</d><d>6</d></x>',
        {"a": 1, "v": "2", "b": {"c": ["2", {"w": "3", "text": "4"}]}, "d": ["5", "6"]},
    ),
    "an alternative of null": (
        {"type": "object", "properties": {"a": {"anyOf": [{"type": "object", "properties": {"n": NUMBER}}, {"type": "null"}]}}},
        "<x><a><n>1</n></a></x>",
        {"a": {"n": 1}},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("schema", "text", "value"), CASES.values(), ids=CASES)
async def test_openapi_xml_answers(api: Any, operation: Any, upstream: Any, schema: Any, text: str, value: Any) -> None:
    """Each way in which a schema says how its XML looks; what it does not say is there all the same."""
    made = await api(operation(responses=answers(schema)))
    assert json.loads(json.dumps(made.functions["op"].data))["xml"] == made.functions["op"].data["xml"]
    upstream.answers["/x"] = (200, {"Content-Type": "application/xml; charset=utf-8"}, text.encode())
    assert await made.call("op") == value


@pytest.mark.parametrize(
    "text",
    [
        "<html><body>Busy</body></html>",
        "<x><a>1</a>",
        "no XML",
        '<!DOCTYPE x [<!ENTITY e "1">]><x><a>&e;</a></x>',
        '<!DOCTYPE x SYSTEM "http://127.0.0.1/e.dtd"><x><a>1</a></x>',
        "<x>" * 101 + "</x>" * 101,
    ],
)
async def test_openapi_xml_that_is_none_stays_text(api: Any, operation: Any, upstream: Any, text: str) -> None:
    """The data is never hidden, and no entity is expanded."""
    schema = {"type": "object", "xml": {"name": "thing"}, "properties": {"a": NUMBER}}
    made = await api(operation(responses=answers(schema)))
    upstream.answers["/x"] = (200, XML, text.encode())
    assert await made.call("op") == text


@pytest.mark.parametrize("encoding", ["utf-16", "iso-8859-1", "utf-8-sig"])
async def test_openapi_xml_in_another_encoding(api: Any, operation: Any, upstream: Any, encoding: str) -> None:
    """As the document itself or the header says."""
    made = await api(operation(responses=answers({"type": "object", "properties": {"a": TEXT}})))
    head = f'<?xml version="1.0" encoding="{encoding.removesuffix("-sig")}"?>'
    for kind, text in (
        ("application/xml", f"{head}<x><a>ü</a></x>"),
        (f"text/xml; charset={encoding}", "<x><a>ü</a></x>"),
    ):
        upstream.answers["/x"] = (200, {"Content-Type": kind}, text.encode(encoding))
        assert await made.call("op") == {"a": "ü"}


@pytest.mark.parametrize("schema", [TEXT, {}, {"oneOf": [ITEM, {"type": "object", "properties": {"m": TEXT}}]}])
async def test_openapi_xml_of_no_single_form_is_text(api: Any, operation: Any, upstream: Any, schema: Any) -> None:
    """Where the schema does not say what is in it."""
    made = await api(operation(responses=answers(schema)))
    upstream.answers["/x"] = (200, XML, b"<x/>")
    assert await made.call("op") == "<x/>"
    assert made.functions["op"].returns == TEXT


async def test_openapi_json_comes_before_xml(api: Any, operation: Any, upstream: Any) -> None:
    """Where a document offers both; and JSON that comes in place of XML is JSON."""
    both = {"200": {"content": {**answers(ITEM)["200"]["content"], "application/json": {"schema": ITEM}}}}
    made = await api(operation(responses=both))
    assert "xml" not in made.functions["op"].data
    made = await api(operation(responses=answers(ITEM)))
    upstream.answers["/x"] = (200, {"Content-Type": "application/json"}, b'{"n": 1}')
    assert await made.call("op") == {"n": 1}


async def test_openapi_xml_of_itself_is_read_to_its_end(api: Any, document: Any, upstream: Any) -> None:
    """A schema that refers to itself, twice: whatever comes first, and as deep as the answer is."""
    ref = {"$ref": "#/components/schemas/Folder"}
    folder = {"type": "object", "properties": {"a": {"type": "array", "items": ref}, "b": ref, "n": NUMBER}}
    paths = {"/x": {"get": {"operationId": "op", "responses": answers(ref)}}}
    made = await api(document(paths, components={"schemas": {"Folder": folder}}))
    value: Any = {"a": [], "n": 0}
    text = "<n>0</n>"
    for depth in range(1, 30):
        value = {"a": [value, {"a": [], "n": depth}], "n": depth}
        text = f"<a>{text}</a><a><n>{depth}</n></a><n>{depth}</n>"
    upstream.answers["/x"] = (200, XML, f"<Folder>{text}</Folder>".encode())
    assert await made.call("op") == value
    upstream.answers["/x"] = (200, XML, b"<Other><c/></Other>")
    assert await made.call("op") == "<Other><c/></Other>"


async def test_openapi_pages_of_xml(host: Any, document: Any, upstream: Any) -> None:
    """A list of XML has pages and items as one of JSON has, and is found by its fields."""
    blob = {"type": "object", "xml": {"name": "Blob"}, "properties": {"Etag": TEXT, "Length": NUMBER}}
    blobs = {"type": "array", "xml": {"wrapped": True}, "items": blob}
    listing = {"type": "object", "properties": {"Blobs": blobs, "NextMarker": TEXT}}
    get = {
        "operationId": "list",
        "parameters": [{"name": "marker", "in": "query", "schema": TEXT}],
        "responses": answers(listing),
    }
    (host.folder / "openapi.json").write_text(json.dumps(document({"/x": {"get": get}})))
    host.install("source", "openapi", OpenAPI)
    host.install_real("search")

    def page(told: Any) -> Any:
        number = int(told["path"].rpartition("=")[2]) if "=" in told["path"] else 1
        marker = f"<NextMarker>{number + 1}</NextMarker>" if number < 3 else "<NextMarker/>"
        return 200, XML, f"<x><Blobs><Blob><Length>{number}</Length></Blob></Blobs>{marker}</x>".encode()

    upstream.answers["/x"] = page
    server = f'[servers.s]\nsource = "openapi"\nspec = "openapi.json"\nbase_url = "{upstream.url}"\n'
    async with host.gateway(f'cache = "none"\nplugins = []\n{server}') as gate:
        got = await gate.answer("doorward.items", {"function": "s.list"})
        found = await gate.search_functions("list blobs", explain=True)
    assert (got.value, got.notes) == ([{"Length": 1}, {"Length": 2}, {"Length": 3}], ())
    assert any("blob" in reason for reason in found["functions"][0]["matched"])


@pytest.mark.slow
def test_openapi_xml_of_many_elements_takes_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its time grows with its length, and it has an end."""
    plan = {"props": {"l": {"items": {"props": {"n": {"type": "integer"}}}}, "m": {}}}
    text = "<x>" + "<l><n>1</n></l>" * 10_000 + "<m/></x>"
    assert len(xml_reading.value_of(plan, text)["l"]) == 10_000
    monkeypatch.setattr(xml_reading, "_MAX_ELEMENTS", 25_000)
    with pytest.raises(xml_reading.NoData):
        xml_reading.value_of(plan, "<x>" + "<l/>" * 25_000 + "</x>")
    assert xml.written({"name": "x"}, {"m": "1"}).endswith("<x><m>1</m></x>")
