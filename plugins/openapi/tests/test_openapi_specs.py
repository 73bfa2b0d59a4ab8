"""The real documents of the developer set (DOORWARD_SPECS)."""

from __future__ import annotations

import ast
import hashlib
import io
import json
import os
import tarfile
import time
from pathlib import Path

import jsonschema_rs
import pytest
from doorward import ConfigError, ServerContext
from doorward.calls.binding import bind
from doorward_openapi import OpenAPI
from doorward_openapi.document.document import decompress, parse
from doorward_testing import typescript
from doorward_testing.cards import faults
from doorward_text import cards, signatures
from doorward_text.dialects import PYTHON
from doorward_text.examples import example_call
from hypothesis import settings

SPECS = Path(os.environ.get("DOORWARD_SPECS", ""))
pytestmark = pytest.mark.anyio
needs_specs = pytest.mark.skipif(
    not os.environ.get("DOORWARD_SPECS"), reason="the folder of documents is absent: DOORWARD_SPECS names it"
)
SINGLE = (
    [p for p in sorted(SPECS.glob("*")) if p.suffix != ".md" and ".tar" not in p.name]
    if os.environ.get("DOORWARD_SPECS")
    else []
)
ARCHIVES = ["digitalocean-multifile", "readme-oas-examples", "oai-learn-examples", "redocly-3.2"]
EXAMPLES = settings.default.max_examples
"""How many functions of a document are looked at closely: 40, and in `make shuffle` all of them."""
METHODS = {"get", "put", "post", "delete", "options", "head", "patch", "trace", "query"}


async def compiled(path: Path):
    source = OpenAPI(ServerContext("api", OpenAPI.Settings(spec=str(path)), path.parent, path.parent))
    await source.fingerprint()
    return await source.compile()


@needs_specs
@pytest.mark.slow
@pytest.mark.parametrize("path", SINGLE, ids=lambda p: p.name)
async def test_openapi_every_operation_is_accounted_for(path):
    """CONTRACT: SRC-03 Every operation of a real document, JSON or YAML, is a function; names are unique, references
    lead somewhere; what an agent reads of them is short and valid Python; each example passes the checks of a call."""
    made = await compiled(path)
    paths = parse(decompress(path.read_bytes(), path.name), path.name).get("paths") or {}
    items = {path: item for path, item in paths.items() if isinstance(item, dict)}
    found = {f"{m.upper()} {p}": item[m] for p, item in items.items() for m in METHODS & item.keys()}
    assert sorted(f.route for f in made.functions) == sorted(
        route for route, node in found.items() if isinstance(node, dict)
    )
    wrong = [route for route, node in found.items() if not isinstance(node, dict)] + [
        path for path in paths if path not in items
    ]
    assert sorted(s.where for s in made.skipped) == sorted(wrong)
    assert len({f.name for f in made.functions}) == len(made.functions)
    known = {f"#/$defs/{name}" for name in made.definitions}
    assert (
        references(
            [f.parameters for f in made.functions] + [f.returns for f in made.functions] + [*made.definitions.values()]
        )
        <= known
    )
    cards_are_short_python(made)
    some = spread(made.functions, 5 * EXAMPLES)
    assert count_without_example(some, made) <= 0.01 * len(some)  # at most one in 100, as nothing short fits


def cards_are_short_python(made):
    """Cards and stubs are valid Python; a card names no class without saying how to see it, and tells nothing twice; 95
    cards in 100 have at most 600 tokens (of four bytes)."""
    some = spread(made.functions, EXAMPLES // 3)
    texts = [cards.describe(f, made.definitions.get, module="api") for f in some]
    assert [fault for text in texts for fault in faults(text)] == []
    ast.parse(signatures.stub(some[:20], made.definitions.get))
    assert sum(len(text.encode()) > 2400 for text in texts) <= max(2, 0.05 * len(texts))


def spread(functions, most):
    """So many of them or a few more, from the first one on."""
    return functions[:: max(1, len(functions) // most)]


def count_without_example(functions, made):
    """How many of these functions have no example at the end of their card. Raises: InvalidArguments if one has a wrong
    one."""
    catalog, without = Definitions(made.definitions), 0
    for function in functions:
        example = example_call(function, made.definitions.get, "api", PYTHON)
        if not example:
            without += 1
            continue
        call = ast.parse(example.removeprefix("result = "), mode="eval").body
        bind(function, (), {word.arg: ast.literal_eval(word.value) for word in call.keywords}, catalog)
    return without


class Definitions:
    """What `bind` asks of a catalog."""

    def __init__(self, definitions):
        self._definitions = definitions

    def definition(self, server, name):
        return self._definitions.get(name)


async def test_openapi_examples_of_a_small_document_are_taken(tmp_path):
    """Whatever a document says of a key: it is on the card and in the example, or not required. What it gives as
    examples is not used where it does not fit."""
    incident = {
        "type": "object",
        "required": ["type", "title", "service", "urgency"],
        "properties": {
            "type": {"type": "string", "enum": ["incident"]},
            "title": {"type": "string", "maxLength": 8, "example": "The server is on fire."},
            "service": {
                "allOf": [
                    {"$ref": "#/components/schemas/Reference"},
                    {"properties": {"type": {"enum": ["service_reference"]}}},
                ]
            },
            "urgency": {"type": "integer", "minimum": 3, "maximum": 5, "example": "high"},
        },
    }
    reference = {
        "allOf": [
            {
                "type": "object",
                "properties": {
                    "id": {"type": "string", "readOnly": True},
                    "type": {"type": "string"},
                    "key": {"type": "string", "pattern": "^P[A-Z0-9]{6}$"},
                },
            },
            {"type": "object", "required": ["type", "id", "key"]},
        ]
    }
    body = {"content": {"application/json": {"schema": {"type": "object", "required": ["incident"],
            "properties": {"incident": incident}}}}}  # fmt: skip
    document = {
        "openapi": "3.0.3",
        "info": {"title": "t", "version": "1"},
        "servers": [{"url": "https://api.example.com"}],
        "paths": {"/incidents": {"post": {"operationId": "create_incident", "requestBody": body}}},
        "components": {"schemas": {"Reference": reference}},
    }
    path = tmp_path / "api.json"
    path.write_text(json.dumps(document))
    made = await compiled(path)
    assert count_without_example(made.functions, made) == 0
    card = cards.describe(made.functions[0], made.definitions.get, module="api")
    service = '"service": {"type": "service_reference", "key": "P111111"}'
    assert card.endswith(f'incident={{"type": "incident", "title": "title", {service}, "urgency": 3}})')
    assert "    id:" not in card


@needs_specs
@pytest.mark.slow
@pytest.mark.skipif(not typescript.HAS_DENO, reason="deno is absent: `pip install deno` brings the compiler")
async def test_openapi_declarations_are_typescript(tmp_path):
    """CONTRACT: EXE-02 What an agent reads of real documents' functions in TypeScript is taken by its compiler, and
    what an executor gets of a whole server."""
    texts = {}
    for number, path in enumerate(SINGLE[::5]):
        made = await compiled(path)
        for function in spread(made.functions, EXAMPLES // 4):
            card = cards.describe(function, made.definitions.get, module="api", language="typescript")
            texts[f"card{len(texts)}.d.ts"] = typescript.apart(card)[0]
        stub = signatures.stub(made.functions[: 5 * EXAMPLES], made.definitions.get, language="typescript")
        texts[f"server{number}.d.ts"] = stub
    assert typescript.faults(texts, tmp_path) == ""


def references(root):
    found, todo = set(), [root]
    while todo:
        node = todo.pop()
        if isinstance(node, dict):
            found |= {node["$ref"]} if isinstance(node.get("$ref"), str) else set()
            todo += node.values()
        elif isinstance(node, list):
            todo += node
    return found


def corpus():
    """Documents below DOORWARD_CORPUS, where there are thousands that nobody has looked at: DOORWARD_CORPUS_SAMPLE of
    them (if that is not given 30, and in `make shuffle` 750), by the hash of their names."""
    folder = Path(os.environ["DOORWARD_CORPUS"])
    found = [
        p
        for end in ("json", "yaml", "yml")
        for p in folder.rglob(f"*.{end}")
        if p.stat().st_size > 300 and p.name != "package.json"
    ]
    found.sort(key=lambda p: hashlib.sha256(str(p.relative_to(folder)).encode()).digest())
    return found[: int(os.environ.get("DOORWARD_CORPUS_SAMPLE", EXAMPLES * 3 // 4))]


@pytest.mark.slow
@pytest.mark.timeout(3000)
@pytest.mark.skipif(
    not os.environ.get("DOORWARD_CORPUS"), reason="the corpus of documents is absent: DOORWARD_CORPUS names it"
)
async def test_openapi_corpus():
    """Every document of a corpus compiles; each operation is a function or skipped for a stated reason; what an agent
    reads of the first functions of each is valid Python."""
    wrong, functions, skipped = [], 0, 0
    for path in corpus():
        try:
            document = parse(decompress(path.read_bytes(), path.name), path.name)
        except ConfigError:  # neither JSON nor YAML, or larger than any document may be
            continue
        if not isinstance(document, dict) or not {"openapi", "swagger"} & document.keys():
            continue
        made = await compiled(path)
        functions, skipped = functions + len(made.functions), skipped + len(made.skipped)
        known = {f.route for f in made.functions} | {s.where for s in made.skipped}
        wrong += [f"{path}: {route} is lost" for route in routes(document) if route not in known]
        wrong += [f"{path}: {s.where} without a reason" for s in made.skipped if not s.why]
        for function in made.functions[:20]:
            ast.parse(cards.describe(function, made.definitions.get, module="api"))
        ast.parse(signatures.stub(made.functions[:20], made.definitions.get))
    assert wrong == []
    assert functions > 1000 * skipped


def routes(document):
    """The operations that stand in a document itself."""
    paths = document.get("paths")
    for path, item in paths.items() if isinstance(paths, dict) else ():
        if isinstance(item, dict) and "$ref" not in item and not path.startswith("x-"):
            yield from (f"{m.upper()} {path if path.startswith('/') else '/' + path}" for m in METHODS & item.keys())


@needs_specs
@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["github.json.zst", "stripe-2023-09-12.yaml.zst", "kubernetes-swagger.json.zst", "discord.json.zst"]
)
async def test_openapi_schemas_are_json_schemas(name):
    """What comes out is valid JSON Schema 2020-12: a validator can be built of it."""
    made = await compiled(SPECS / name)
    schemas = {f.name: dict(f.parameters) for f in made.functions} | {
        f"returns_{f.name}": f.returns for f in made.functions if f.returns
    }
    jsonschema_rs.meta.validate(
        {"$schema": "https://json-schema.org/draft/2020-12/schema", "$defs": {**made.definitions, **schemas}}
    )


@pytest.mark.slow
@needs_specs
async def test_openapi_github_is_fast():
    """GitHub's 1,223 operations (13 MB) compile in well below a second of processor time, twice that on a busy
    machine."""
    started = time.process_time()
    made = await compiled(SPECS / "github.json.zst")
    assert len(made.functions) == 1223
    assert time.process_time() - started < 2


def unpacked(name, folder):
    """The documents of an archive: each as it is parsed, and its file."""
    raw = decompress((SPECS / f"{name}.tar.zst").read_bytes(), name)
    with tarfile.open(fileobj=io.BytesIO(raw)) as archive:
        archive.extractall(folder, filter="data")
    roots = [p for p in folder.rglob("*") if p.suffix in (".json", ".yaml", ".yml")]
    if name == "digitalocean-multifile":
        roots = [p for p in roots if p.name == "DigitalOcean-public.v2.yaml"]
    for path in roots:
        document = parse(path.read_bytes(), path.name)
        if isinstance(document, dict) and {"openapi", "swagger"} & document.keys():
            yield document, path


@needs_specs
@pytest.mark.slow
@pytest.mark.parametrize("name", ARCHIVES)
async def test_openapi_archives(name, tmp_path):
    """Documents of several files, small examples of each feature and OpenAPI 3.2 compile; what is skipped says why. Each
    example passes the checks of a call, though some documents contradict themselves."""
    functions = without = 0
    for document, path in unpacked(name, tmp_path):
        made = await compiled(path)
        items = [i for i in (document.get("paths") or {}).values() if isinstance(i, dict) and "$ref" not in i]
        wanted = sum(len(METHODS & i.keys()) + len(i.get("additionalOperations", ())) for i in items)
        assert len(made.functions) + len(made.skipped) >= wanted, path
        assert all(s.why for s in made.skipped)
        functions, without = functions + len(made.functions), without + count_without_example(made.functions, made)
    assert without <= 0.02 * functions
    assert (
        functions
        > {"digitalocean-multifile": 600, "readme-oas-examples": 200, "oai-learn-examples": 30, "redocly-3.2": 50}[name]
    )
