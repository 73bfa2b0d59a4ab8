"""What models wrote, as the catalog keeps it: under a hash of what was documented."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from doorward import Compiled, Function
from doorward.administration import Enhancement
from doorward.catalog.catalog import Catalog
from doorward.catalog.sqlite_store import SqliteCatalog
from doorward.catalog.store import StoredEnhancement

from ..conftest import function, stored


def test_nobody_reads_what_was_said_of_another_text(tmp_path: Path) -> None:
    """If a function changes between the question and the answer, the answer is kept, and not shown."""
    catalog = stored(tmp_path, function("f", "Old"), function("g", "Same"))
    old = {name: catalog.documented(found) for name in "fg" if (found := catalog.function("s", name))}
    catalog.store("s", Compiled([function("f", "New"), function("g", "Same")]), fingerprint="f", settings="c", ms=1)
    catalog.enhance("s", {name: StoredEnhancement(hash, '{"summary":"x"}', "x", False) for name, hash in old.items()})
    catalog.refresh()
    assert catalog.enhancement("s", "f") is None
    assert catalog.enhancement("s", "g") == Enhancement("x")
    assert Catalog(SqliteCatalog(tmp_path / "catalog.db")).enhancement("s", "none") is None


Change = Callable[[Function], Function]


@pytest.mark.parametrize(
    ("change", "differs"),
    [
        (lambda f: replace(f, summary="x"), True),
        (lambda f: replace(f, description="x"), True),
        (lambda f: replace(f, route="GET /x"), True),
        (lambda f: replace(f, read_only=True), True),
        (lambda f: replace(f, parameters={"type": "object", "properties": {"a": {"description": "x"}}}), True),
        (lambda f: replace(f, returns={"$ref": "#/$defs/Thing"}), True),
        (lambda f: replace(f, data={"x": 1}), False),
        (lambda f: replace(f, aliases=("x",)), False),
    ],
)
def test_what_is_documented(tmp_path: Path, change: Change, differs: bool) -> None:
    """The hash is that of texts and schemas, with what they refer to, and of nothing else."""
    catalog = stored(tmp_path, function("f", "Summary"))
    found = catalog.function("s", "f")
    assert found is not None
    assert (catalog.documented(change(found)) != catalog.documented(found)) is differs
