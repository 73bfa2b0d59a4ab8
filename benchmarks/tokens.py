"""Tokens of values in the forms of `output`, by tokenizers of several models: examples of responses of other people's
APIs, and tables of records."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from common import table
from doorward import Outcome
from doorward_mcp_server.output import encoder, outcome_text, written
from doorward_text import compact_json

from examples import examples

ENVIRONMENT = Path(os.environ.get("BENCH_TOKENS", Path(tempfile.gettempdir()) / "doorward-bench-tokens"))
"""Where the tokenizers and the tables are installed, if they are not there."""
PYTHON = ENVIRONMENT / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
PACKAGES = ("bpe-openai", "vega_datasets")
NODE_PACKAGES = ("@anthropic-ai/tokenizer", "llama3-tokenizer-js")
MOST_BYTES = 16 * 2**10
"""Of a value: `[limits] inline`."""
ROWS = (5, 25, 100)
COUNT_PYTHON = """\
import bpe_openai, json, sys
values = json.load(open(sys.argv[1]))
for name in ("o200k_base", "cl100k_base"):
    encode = bpe_openai.get_encoding(name).encode
    print(json.dumps([name, [[len(encode(text)) for text in forms] for forms in values]]))
"""
COUNT_NODE = """\
import { readFileSync } from "fs";
import { getTokenizer } from "@anthropic-ai/tokenizer";
import llama3 from "llama3-tokenizer-js";
const values = JSON.parse(readFileSync(process.argv.at(-1)));
const tokenizer = getTokenizer();
const claude = (text) => tokenizer.encode(text.normalize("NFKC"), "all").length;
const llama = (text) => llama3.encode(text, { bos: false, eos: false }).length;
for (const [name, count] of [["Claude 2", claude], ["Llama 3", llama]])
  console.log(JSON.stringify([name, values.map((forms) => forms.map(count))]));
"""


async def run(folder: Path) -> None:
    print("## Tokens of values in the forms of `output`")
    specs = Path(os.environ.get("DOORWARD_SPECS", "-"))
    if not specs.is_dir() or encoder() is None:
        print("\nLeft out: set DOORWARD_SPECS to a folder with documents, and install toon-format.\n")
        return
    try:
        _install()
    except (subprocess.SubprocessError, OSError) as error:
        print(f"\nLeft out: the tokenizers could not be installed ({error}).\n")
        return
    for name, values in (
        ("Examples of responses in OpenAPI documents", [value for _, value in examples(specs)]),
        (f"Tables: the first {', '.join(map(str, ROWS))} records of the data sets of Vega", _tables()),
    ):
        _compared(name, [value for value in values if len(compact_json(value).encode()) <= MOST_BYTES], folder)
    rows = [{"id": n, "name": f"name {n}", "open": n % 2 == 0, "url": f"https://example.com/{n}"} for n in range(180)]
    _timed(rows)


def _compared(name: str, values: Sequence[Any], folder: Path) -> None:
    forms: Mapping[str, list[str]] = {
        "text": [outcome_text(Outcome(True, value=value), "text") for value in values],
        "compact JSON": [compact_json(value) for value in values],
        "indented JSON": [json.dumps(value, ensure_ascii=False, indent=2) for value in values],
        "toon": [written(value, "toon") for value in values],
        "auto": [written(value, "auto") for value in values],
    }
    chosen = [number for number, text in enumerate(forms["auto"]) if text.startswith("```")]
    print(f"\n### {name}: {len(values)}, of which `auto` shows {len(chosen)} as TOON\n\nParts of the tokens of `text`.")
    rows = []
    for tokenizer, counts in _counted([list(each) for each in zip(*forms.values(), strict=True)], folder):
        total = [sum(column) for column in zip(*counts, strict=True)]
        saved = [1 - sum(counts[n][4] for n in chosen) / sum(counts[n][1] for n in chosen)] if chosen else [0.0]
        worse = sum(counts[n][4] > counts[n][1] for n in chosen)
        rows.append(
            [tokenizer, f"{total[0]:,}", *(f"{each / total[0]:.3f}" for each in total[1:]), f"{saved[0]:.0%}", worse]
        )
    columns = [
        "tokenizer",
        "tokens of text",
        *list(forms)[1:],
        "TOON in auto saves of compact JSON",
        "takes more, times",
    ]
    table(columns, rows)


def _timed(rows: Any) -> None:
    took: dict[str, list[float]] = {"JSON": [], "auto, with TOON": []}
    for _ in range(50):
        for name, form in (("JSON", "json"), ("auto, with TOON", "auto")):
            started = time.perf_counter()
            written(rows, form)
            took[name].append((time.perf_counter() - started) * 1000)
    print(f"Writing a table of {len(compact_json(rows)):,} bytes, ms (median of 50):")
    table([*took], [[f"{sorted(each)[25]:.2f}" for each in took.values()]])


def _tables() -> list[Any]:
    found = []
    for file in sorted(ENVIRONMENT.rglob("vega_datasets/_data/*")):
        with file.open(newline="") as opened:
            data = list(csv.DictReader(opened)) if file.suffix == ".csv" else json.load(opened)
        found += [list(islice(data, most)) for most in ROWS if isinstance(data, list)]
    return found


def _install() -> None:
    if not PYTHON.exists():
        venv.create(ENVIRONMENT, with_pip=True)
    if subprocess.run([PYTHON, "-c", "import bpe_openai, vega_datasets"], capture_output=True).returncode:
        command = [PYTHON, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*command, PACKAGES[0]], check=True, timeout=240, capture_output=True)
        subprocess.run([*command, "--no-deps", PACKAGES[1]], check=True, timeout=240, capture_output=True)
    if not (ENVIRONMENT / "node_modules" / NODE_PACKAGES[-1]).exists():
        command = ["npm", "install", "--silent", "--prefix", str(ENVIRONMENT), *NODE_PACKAGES]
        subprocess.run(command, check=True, timeout=240, capture_output=True)


def _counted(values: list[list[str]], folder: Path) -> list[tuple[str, list[list[int]]]]:
    """For each tokenizer, the tokens of each text."""
    file, script = folder / "values.json", ENVIRONMENT / "count.mjs"
    file.write_text(json.dumps(values))
    script.write_text(COUNT_NODE)
    found = []
    for command in ([str(PYTHON), "-c", COUNT_PYTHON], ["node", str(script)]):
        told = subprocess.run([*command, str(file)], check=True, capture_output=True, text=True).stdout
        found += [json.loads(line) for line in told.splitlines()]
    return found
