"""OpenAPI Overlay documents: an operator corrects somebody else's document."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest
from doorward import ConfigError, ServerContext
from doorward_openapi import OpenAPI

pytestmark = pytest.mark.anyio
PETS = {
    "/pets": {
        "get": {"operationId": "listPets", "tags": ["pets"], "summary": "List"},
        "post": {"operationId": "addPet", "x-internal": True},
    },
    "/pets/{id}": {
        "delete": {"operationId": "removePet", "x-internal": True},
        "get": {"operationId": "getPet", "parameters": [{"name": "id", "in": "path"}]},
    },
}


def overlay(*actions: Any, version: str = "1.0.0") -> dict[str, Any]:
    return {"overlay": version, "info": {"title": "t", "version": "1"}, "actions": list(actions)}


@pytest.fixture
def corrected(api: Any, document: Any, tmp_path: Path) -> Any:
    """Compiles PETS with the overlays given."""

    async def make(*overlays: Any) -> Any:
        for number, one in enumerate(overlays):
            (tmp_path / f"fix{number}.json").write_text(one if isinstance(one, str) else json.dumps(one))
        names = [f"fix{number}.json" for number in range(len(overlays))]
        return await api(document(PETS), overlay=names[0] if len(names) == 1 else names)

    return make


@pytest.mark.slow
async def test_openapi_overlay_updates_merge(corrected):
    """An update is merged into objects recursively, appended to lists, and replaces what is neither. CONTRACT:
    SRC-05."""
    made = await corrected(
        overlay(
            {
                "target": "$.paths['/pets'].get",
                "update": {"summary": "List all pets", "tags": ["more"], "deprecated": True},
            },
            {"target": "$.paths['/pets'].get.tags", "update": "last"},
            {
                "target": "$.paths.*.get.parameters",
                "update": {"name": "verbose", "in": "query", "schema": {"type": "boolean"}},
            },
        )
    )
    listed = made.functions["list_pets"]
    assert (listed.summary, listed.tags, listed.deprecated) == ("List all pets", ("pets", "more", "last"), True)
    assert list(made.functions["get_pet"].parameters["properties"]) == ["id", "verbose"]
    assert made.compiled.warnings == []


async def test_openapi_overlay_removes(corrected):
    """`remove` takes away every place that the target selects, also several items of one list; it wins over
    `update`."""
    made = await corrected(
        overlay(
            {"target": "$.paths.*[?@['x-internal']]", "remove": True, "update": {"summary": "never"}},
            {"target": "$.paths['/pets'].get.tags", "update": ["b", "c"]},
            {"target": "$.paths['/pets'].get.tags[0,1]", "remove": True},
        )
    )
    assert sorted(made.functions) == ["get_pet", "list_pets"]
    assert made.functions["list_pets"].tags == ("c",)


async def test_openapi_overlays_apply_in_order(corrected):
    """A later overlay sees what an earlier one did, and an action what earlier actions did."""
    made = await corrected(
        overlay({"target": "$.paths", "update": {"/new": {"get": {"operationId": "first"}}}}),
        overlay({"target": "$.paths['/new'].get", "update": {"operationId": "second"}}),
    )
    assert "second" in made.functions
    assert "first" not in made.functions


async def test_openapi_overlay_actions_that_fit_nothing_are_told(corrected):
    """A target that selects nothing is a warning with its place; the others are applied."""
    made = await corrected(
        overlay(
            {"target": "$.paths['/pest']", "remove": True},
            {"target": "$.info", "update": {"description": "Pets, corrected"}},
        )
    )
    assert made.compiled.description == "Pets, corrected"
    assert made.compiled.warnings == ["overlay fix0.json actions[0]: $.paths['/pest'] is nowhere in the document"]


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ("openapi: 3.0.0", "no `overlay`"),
        (overlay(version="2.0.0"), "Overlay 2.0.0"),
        (overlay(), "`actions`"),
        ({"overlay": "1.0.0", "actions": {}}, "`actions`"),
        (overlay({"target": "$", "update": {}}, 7), r"actions\[1\].*a number"),
        (overlay({"update": {}}), r"actions\[0\].*`target`"),
        (overlay({"target": "$.paths"}), r"actions\[0\].*`update`"),
        (overlay({"target": "paths['/pets']", "update": {}}), r"actions\[0\].*JSONPath"),
        (overlay({"target": "$.paths[", "update": {}}), r"actions\[0\].*JSONPath"),
        (overlay({"target": "$.info.title", "update": "x"}), r"actions\[0\].*a string"),
        (overlay({"target": "$.info", "update": "x"}), r"actions\[0\].*a string"),
        (overlay({"target": "$", "remove": True}), r"actions\[0\].*whole document"),
        ("[", "neither JSON nor YAML"),
    ],
)
async def test_openapi_wrong_overlays_are_told(corrected, wrong, told):
    """What is wrong in an overlay is a ConfigError that names the file and the action."""
    with pytest.raises(ConfigError, match=rf"(?s)fix0\.json.*{told}|{told}.*fix0\.json"):
        await corrected(wrong)


async def test_openapi_overlay_that_is_not_there(api, document):
    """A missing overlay is told as such, by its name."""
    with pytest.raises(ConfigError, match=r"^overlay = 'none\.yaml': there is no file '/"):
        await api(document({}), overlay="none.yaml")


async def test_openapi_overlay_of_a_deep_document(api, operation, tmp_path):
    """A hostile document cannot exhaust the search for targets: nesting ends in an error."""
    nested: Any = {}
    for _ in range(400):
        nested = {"a": nested}
    (tmp_path / "fix.json").write_text(json.dumps(overlay({"target": "$..nothing", "remove": True})))
    with pytest.raises(ConfigError, match="recursion"):
        await api({**operation(), "x-deep": nested}, overlay="fix.json")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("action", "told"),
    [
        ({"target": "$..[?count($..*) == 0]", "update": {}}, "for ever"),
        ({"target": "$..[?$..nothing]", "update": {}}, "for ever"),
        ({"target": "$..[?match('aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!', '(a+)+')]", "update": {}}, "for ever"),
        ({"target": "$..*..*..*..nothing", "update": {}}, "for ever"),
        ({"target": "$..get", "update": {"x": ["y" * 1000] * 100}}, "too large"),
    ],
)
async def test_openapi_hostile_overlays_end(api, document, tmp_path, action, told):
    """An overlay of somebody else can neither compute for ever nor make a document of gigabytes."""
    (tmp_path / "fix.json").write_text(json.dumps(overlay(*[action] * 20)))
    started = time.process_time()
    with pytest.raises(ConfigError, match=told):
        await api(document({f"/p{i}": {"get": {}} for i in range(1000)}), overlay="fix.json")
    assert time.process_time() - started < 10
    (tmp_path / "fix.json").write_text(json.dumps(overlay({"target": "$..[?@['a..b'] == '..match(']", "update": {}})))
    await api(document({"/p": {"get": {}}}), overlay="fix.json")


async def test_openapi_overlay_does_not_change_twins(api, tmp_path):
    """What YAML aliases share is corrected where the target is, and nowhere else."""
    (tmp_path / "fix.yaml").write_text(
        "overlay: 1.0.0\nactions: [{target: \"$.paths['/b'].get\", update: {summary: new}}]"
    )
    text = "openapi: 3.0.0\npaths:\n  /a: {get: &one {summary: old}}\n  /b: {get: *one}\n"
    made = await api(text, name="openapi.yaml", overlay="fix.yaml")
    assert [f.summary for f in made.compiled.functions] == ["old", "new"]


async def test_openapi_overlay_over_several_files(api, document, tmp_path):
    """An overlay corrects the root document, where it may add references to files that are there already."""
    (tmp_path / "parts.json").write_text(json.dumps({"A": {"type": "object", "properties": {"a": {}}}}))
    body = {"content": {"application/json": {"schema": {"$ref": "parts.json#/A"}}}}
    (tmp_path / "fix.json").write_text(
        json.dumps(overlay({"target": "$.paths['/b'].post", "update": {"requestBody": body}}))
    )
    made = await api(document({"/a": {"post": {"requestBody": body}}, "/b": {"post": {}}}), overlay="fix.json")
    assert list(made.functions["post_b"].parameters["properties"]) == ["a"]


async def test_openapi_overlay_is_part_of_the_fingerprint(api, document, tmp_path):
    """A change of an overlay is a change of the document."""
    prints = []
    for summary in ("one", "two", "two"):
        (tmp_path / "fix.json").write_text(
            json.dumps(overlay({"target": "$.info", "update": {"description": summary}}))
        )
        made = await api(document(PETS), overlay="fix.json")
        prints.append(await made.source.fingerprint())
    assert prints[0] != prints[1] == prints[2]


async def test_openapi_overlay_from_a_url(api, document, upstream):
    """Overlays are downloaded as documents are."""
    upstream.answers["/fix.json"] = (
        200,
        {},
        json.dumps(overlay({"target": "$.info", "update": {"description": "fixed"}})).encode(),
    )
    made = await api(document(PETS), overlay=f"{upstream.url}/fix.json")
    assert made.compiled.description == "fixed"


@pytest.mark.skipif(
    not os.environ.get("DOORWARD_SPECS"), reason="the folder of documents is absent: DOORWARD_SPECS names it"
)
@pytest.mark.slow
async def test_openapi_overlay_on_github(tmp_path):
    """GitHub's document, corrected: everything about Dependabot is gone, and one summary is better."""
    actions = [
        {"target": "$.paths.*[?@.tags[0] == 'dependabot']", "remove": True},
        {"target": "$.paths.*[?@.operationId == 'issues/create']", "update": {"summary": "Open an issue"}},
    ]
    (tmp_path / "fix.json").write_text(json.dumps(overlay(*actions)))
    spec = str(Path(os.environ["DOORWARD_SPECS"]) / "github.json.zst")
    settings = OpenAPI.Settings(spec=spec, overlay="fix.json")
    made = await OpenAPI(ServerContext("api", settings, tmp_path, tmp_path)).compile()
    functions = {f.name: f for f in made.functions}
    assert functions["issues_create"].summary == "Open an issue"
    assert not [f for f in made.functions if "dependabot" in f.tags]
    assert 1100 < len(functions) < 1223
