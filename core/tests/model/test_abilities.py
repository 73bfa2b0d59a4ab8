"""What drivers may be able to do besides what they must: asked for by protocols, and known to type checkers."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import FrozenInstanceError, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import doorward
import doorward.abilities
import pytest
from doorward import Function, PluginContext, ServerContext, Settings
from doorward.model import drivers as abilities
from doorward.servers.auths import url_of

ROOT = Path(__file__).resolve().parents[3]
CORE = Path(doorward.__file__).parent
ALL = [name for name, thing in vars(abilities).items() if getattr(thing, "_is_runtime_protocol", False)]

FOREIGN = {
    "sqlite_errorcode",
    "model_fields",
    "json_schema_extra",
    "context",
    "isoformat",
    "cache_clear",
    "PLUGIN_API",
    "body",
    "_path",
}
"""Attributes of other libraries' objects, of a plugin's module, and of errors."""


def sniffed(tree: ast.AST) -> Sequence[str]:
    """The names that code asks objects for as text, where that is not the module `os`."""
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)]
    asked = [c for c in calls if c.func.id in ("getattr", "hasattr") and ast.unparse(c.args[0]) != "os"]
    names = [str(c.args[1].value) for c in asked if isinstance(c.args[1], ast.Constant)]
    return [name for name in names if not name.startswith("__")]  # those are the language's own


@pytest.mark.slow
def test_core_sniffs_no_ability() -> None:
    """Nothing of core asks a driver for an attribute by its name: a protocol says what it may have."""
    found = {
        (file.name, name)
        for file in CORE.rglob("*.py")
        for name in sniffed(ast.parse(file.read_text(encoding="utf-8")))
    }
    assert [each for each in sorted(found) if each[1] not in FOREIGN] == []


@pytest.mark.parametrize("name", ALL)
def test_an_ability_is_exported_and_told(name: str) -> None:
    """Each protocol is exported by `doorward.abilities`, can be asked for, and stands in the page for plugin authors."""
    assert name in doorward.abilities.__all__
    assert getattr(doorward.abilities, name) is getattr(abilities, name)
    assert not isinstance(object(), getattr(abilities, name))
    assert f"`{name}`" in (ROOT / "docs/plugins.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("context", [PluginContext, ServerContext])
def test_a_context_can_be_made_with_its_type(context: Any) -> None:
    """A context is frozen, and may be made by its subscripted name, as an author's tests do."""
    made = context[Settings]("acme", Settings(), Path("here"), Path("state") if context is ServerContext else "")
    assert replace(made, name="other").settings is made.settings
    with pytest.raises(FrozenInstanceError):
        made.name = "other"


def test_a_context_gives_other_settings() -> None:
    """A driver that builds on another one hands it a context with the settings which that one knows, and all else as it
    was."""
    context = PluginContext("acme", Settings(), Path("state"), "https://a.example", principal="ann")
    other = SimpleNamespace(key=1)
    assert context.with_settings(other) == replace(context, settings=other)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("settings", "url"),
    [
        ({"url": "https://a.example"}, "https://a.example"),
        ({"base_url": "https://b.example"}, "https://b.example"),
        ({"url": None, "base_url": "https://b.example"}, "https://b.example"),
        ({"url": "https://a.example", "base_url": "https://b.example"}, "https://a.example"),
        ({"url": None}, ""),
        ({}, ""),
    ],
)
def test_where_a_server_is(settings: dict[str, Any], url: str) -> None:
    """Settings say by `url`, else by `base_url`, where their server is."""
    assert url_of(SimpleNamespace(**settings)) == url


def test_a_class_offers_functions() -> None:
    """`offers` is asked of the driver's class, which no server needs to be made for."""

    class Offering:
        offers = (Function("", "read"),)

    assert isinstance(Offering, abilities.OffersFunctions)
    assert not isinstance(type("Plain", (), {}), abilities.OffersFunctions)
