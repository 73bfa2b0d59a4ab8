"""Google Discovery documents: methods as functions, called as their API wants it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from doorward import ConfigError

pytestmark = pytest.mark.anyio

NOTE = {"type": "object", "properties": {"id": {"type": "string"}, "stars": {"type": "integer", "format": "int32"}}}
DOCUMENT = {
    "kind": "discovery#restDescription",
    "name": "notes",
    "version": "v1",
    "title": "Notes API",
    "rootUrl": "https://notes.example.com/",
    "servicePath": "notes/v1/",
    "parameters": {
        "fields": {"type": "string", "location": "query", "description": "What to include"},
        "access_token": {"type": "string", "location": "query"},
    },
    "auth": {"oauth2": {"scopes": {"https://notes.example.com/auth": {"description": "All"}}}},
    "schemas": {
        "Note": {"id": "Note", **NOTE},
        "Notes": {"type": "object", "properties": {"notes": {"type": "array", "items": {"$ref": "Note"}}}},
    },
    "methods": {"about": {"id": "notes.about", "path": "about", "httpMethod": "GET"}},
    "resources": {
        "projects": {
            "resources": {
                "notes": {
                    "methods": {
                        "list": {
                            "id": "notes.projects.notes.list",
                            "path": "{+parent}/notes",
                            "flatPath": "projects/{projectsId}/notes",
                            "httpMethod": "GET",
                            "description": "Lists notes.",
                            "parameters": {
                                "parent": {"type": "string", "location": "path", "required": True},
                                "label": {"type": "string", "location": "query", "repeated": True},
                                "most": {"type": "integer", "location": "query", "maximum": "50", "default": "10"},
                            },
                            "response": {"$ref": "Notes"},
                            "scopes": ["https://notes.example.com/auth"],
                        },
                        "create": {
                            "id": "notes.projects.notes.create",
                            "path": "projects/{project}/notes",
                            "httpMethod": "POST",
                            "parameters": {"project": {"type": "string", "location": "path", "required": True}},
                            "request": {"$ref": "Note"},
                            "response": {"$ref": "Note"},
                        },
                        "odd": {"id": "notes.projects.notes.odd", "path": "{+name}", "httpMethod": "GET"},
                    }
                }
            }
        }
    },
}


async def test_methods_are_functions(api: Callable[..., Any], upstream: Any) -> None:
    """Paths of several segments, repeated parameters, limits written as text, bodies and references are those of the
    API; parameters for credentials are nobody's, and a token is suggested."""
    notes = await api(DOCUMENT)
    listing = notes.functions["projects_notes_list"]
    assert {*notes.functions} == {"about", "projects_notes_list", "projects_notes_create"}
    properties = listing.parameters["properties"]
    assert {*properties} == {"projectsId", "label", "most", "fields"}
    assert (properties["most"]["maximum"], properties["most"]["default"]) == (50, 10)
    assert listing.read_only
    assert listing.tags == ("projects.notes",)
    assert notes.compiled.auth[0].auth[0]["type"] in ("bearer", "jwt")
    await notes.call("projects_notes_list", projectsId="p/1", label=["a", "b"])
    assert upstream.seen[-1]["path"].startswith("/projects/p%2F1/notes?label=a&label=b")
    await notes.call("projects_notes_create", project="p", stars=3)
    assert json.loads(upstream.seen[-1]["body"]) == {"stars": 3}


async def test_what_is_broken_is_left_out(api: Callable[..., Any]) -> None:
    """Parts of the wrong kind are as if they were not there; a document without any method says so."""
    broken = {**DOCUMENT, "schemas": [1], "auth": 1, "parameters": None, "resources": {"x": 1}, "rootUrl": 7}
    assert {*(await api(broken)).functions} == {"about"}
    broken["methods"] = {"a": 1, "b": {"path": [], "httpMethod": 3}, "c": {"path": "c"}}
    nothing = await api(broken)
    assert not nothing.functions
    with pytest.raises(ConfigError, match="neither"):
        await api({**DOCUMENT, "kind": "discovery#directoryList"})
