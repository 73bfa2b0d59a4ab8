"""What Monty lacks is said with what to write instead."""

from __future__ import annotations

import pytest
from doorward_sandbox_monty.missing_features import missing_feature


@pytest.mark.parametrize(
    ("error", "message", "instead"),
    [
        ("ModuleNotFoundError", "No module named 'io'", "`text.splitlines()` are the lines of a text"),
        ("ModuleNotFoundError", "No module named 'urllib.parse'", "take a URL apart"),
        ("ModuleNotFoundError", "No module named 'heapq'", "`sorted(values)[:n]`"),
        ("ModuleNotFoundError", "No module named 'xml.dom'", "in XML are read already"),
        ("ModuleNotFoundError", "No module named 'concurrent.futures'", "await asyncio.gather"),
        ("RuntimeError", "'os.getenv' is not supported in this environment", "write values at its top"),
        ("ModuleNotFoundError", "No module named 'pandas'", "Modules of monty: asyncio, "),
        ("AttributeError", "module 'os' has no attribute 'system'", "Write it without"),
        ("ImportError", "cannot import name 'JSONDecoder' from 'json' (unknown location)", "Write it without"),
        ("NotImplementedError", "The monty syntax parser does not yet support yield expressions", "Collect a list"),
        ("NotImplementedError", "The monty syntax parser does not yet support class inheritance", "Raise ValueError"),
        ("NotImplementedError", "The monty syntax parser does not yet support the 'del' statement", ".pop(key)"),
        ("NotImplementedError", "The monty syntax parser does not yet support tabs", "Write it plainly"),
    ],
)
def test_what_to_write_instead(error: str, message: str, instead: str) -> None:
    """A common limit comes with its replacement, another one with all that there is."""
    found = missing_feature(error, message)
    assert found is not None
    assert instead in found.instead


@pytest.mark.parametrize(
    "message",
    [
        "module 'json' has no attribute 'foo'",
        "cannot import name 'foo' from 'json'",
        "module 'antigravity' has no attribute 'fly'",
    ],
)
def test_what_no_python_has_is_an_error_of_the_program(message: str) -> None:
    """A member that a module of the standard library does not have, or of a module that monty does not have, is the
    program's own mistake, and no other executor is tried."""
    assert missing_feature("AttributeError", message) is None
    assert missing_feature("ImportError", message) is None
