"""The forms of answers, over what other people's APIs say that they answer."""

from __future__ import annotations

import json
import os
import runpy
from pathlib import Path

import pytest
from doorward.data.values import plain
from doorward_mcp_server.output import written
from doorward_text import compact_json

toon_format = pytest.importorskip("toon_format", reason="toon-format is absent: pip install toon-format")
EXAMPLES = Path(__file__).resolve().parent.parent / "benchmarks/examples.py"


@pytest.mark.slow
@pytest.mark.skipif(
    not os.environ.get("DOORWARD_SPECS"), reason="the folder of documents is absent: DOORWARD_SPECS names it"
)
def test_examples_of_apis_read_back_from_each_form() -> None:
    """Every example of a response, as TOON or as JSON, is the same value; `auto` is never longer than compact JSON.
    CONTRACT: OUT-02."""
    found = runpy.run_path(str(EXAMPLES))["examples"](Path(os.environ["DOORWARD_SPECS"]))
    shown = {"auto": 0, "toon": 0}
    for document, example in found:
        value = plain(example)
        for form in shown:
            text = written(value, form)
            if text.startswith("```toon\n"):
                shown[form] += 1
                assert toon_format.loads(text.removeprefix("```toon\n").removesuffix("\n```")) == value, document
            else:
                assert json.loads(text) == value, document
        assert len(written(value, "auto")) <= len(compact_json(value))
    assert shown["auto"] > 0.05 * shown["toon"]
    assert shown["toon"] > 1000
