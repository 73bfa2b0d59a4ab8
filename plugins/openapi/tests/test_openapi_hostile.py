"""Documents that want to harm: they cost an operation or a ConfigError, never the process."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from contextlib import suppress
from itertools import pairwise
from typing import Any

import pytest
from doorward import ConfigError
from doorward_openapi.document.document import parse
from doorward_openapi.document.refs import Bundle
from doorward_openapi.operations.compiler import compile_document
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pytestmark = pytest.mark.anyio


def compiled(document):
    raw = document if isinstance(document, bytes) else json.dumps(document).encode()
    return compile_document("api", Bundle("file:///d/openapi.json", {"file:///d/openapi.json": raw}))


BOMB = (
    "a: &a ["
    + ",".join(["lol"] * 10)
    + "]\n"
    + "".join(f"{b}: &{b} [{','.join(['*' + a] * 10)}]\n" for a, b in pairwise("abcdefghij"))
)


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "[" * 10_000 + "]" * 10_000,
        '{"a":' * 10_000 + "1" + "}" * 10_000,
        "\n".join(" " * i + "a:" for i in range(3_000)),
        "- " * 100_000,
        "? " * 100_000,
        "{" * 100_000,
        "openapi: 3.0.0\n" + BOMB,
        "openapi: 3.0.0\nbig: &a " + "x" * 1_000_000 + "\nmany:\n" + "- *a\n" * 100_000,
        "openapi: !!python/object/apply:os.system [id]",
        "a: &a {b: *a}",
        "[," * 5_000_000,
    ],
    ids=["lists", "objects", "indents", "dashes", "questions", "braces", "laughs", "copies", "tags", "circle", "many"],
)
def test_openapi_bombs_are_refused(text):
    """Nesting, expanding, copying and executing documents are refused in a moment."""
    started = time.process_time()
    with pytest.raises(ConfigError):
        compiled(text.encode())
    assert time.process_time() - started < 5


@pytest.mark.slow
def test_openapi_yaml_in_threads_that_end():
    """YAML parsed in one worker thread after the other does not take the process down (the allocator of yaml-rs)."""
    code = """
    import threading
    from doorward_openapi.document.document import parse
    text = ("a: [1, 2]\\n" + "".join(f"k{i}: {{x: [{i}, y{i}]}}\\n" for i in range(20000))).encode()
    for _ in range(6):
        thread = threading.Thread(target=parse, args=(text, "t"))
        thread.start(); thread.join()
    print("well")
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "well\n")


async def test_openapi_text_is_data(api, operation):
    """Code in names, summaries, defaults and paths stays text."""
    evil = '"""\nimport os; os.system("id")  # {__import__("os")}'
    made = await api(
        operation(
            path='/a"+__import__("os")+"',
            summary=evil,
            parameters=[{"name": evil, "in": "query", "schema": {"type": "integer", "default": evil}}],
        )
    )
    function = made.functions["op"]
    assert all(name.isidentifier() for name in function.parameters["properties"])
    assert 'os.system("id")' in function.summary
    assert (await made.call("op"))["path"] == "/a%22+__import__(%22os%22)+%22"


def test_openapi_huge_strings_are_cut():
    """A description of megabytes, an id of thousands of characters: bounded in what is kept."""
    big = "x" * 2_000_000
    parameter = {
        "name": "q",
        "in": "query",
        "description": big,
        "schema": {"default": big, "enum": [big], "pattern": big},
    }
    node = {"operationId": big, "summary": big, "description": big, "tags": [big], "parameters": [parameter]}
    made = compiled({"openapi": "3.0.0", "info": {"description": big}, "paths": {"/x": {"get": node}}})
    function = made.functions[0]
    assert (
        len(json.dumps([made.description, function.parameters, function.summary, function.description, function.tags]))
        < 10_000
    )


def test_openapi_shared_parameters_cannot_multiply():
    """A small document that multiplies parameters by operations stops at a bound; the rest is skipped with the
    reason."""
    shared = [{"name": f"p{i}", "in": "query", "schema": {}} for i in range(1_000)]
    paths = {f"/{i}": {"parameters": [{"$ref": f"#/x/{n}"} for n in range(1000)], "get": {}} for i in range(5)}
    document = {"openapi": "3.0.0", "x": shared, "paths": paths}
    from doorward_openapi.operations import compiler

    most, compiler.MAX_KEYWORDS = compiler.MAX_KEYWORDS, 2_500
    try:
        made = compiled(document)
    finally:
        compiler.MAX_KEYWORDS = most
    assert (len(made.functions), len(made.skipped)) == (3, 2)


def test_openapi_deep_schemas_end():
    """A schema of hundreds of levels is cut where nobody reads any more."""
    schema: dict = {}
    for _ in range(300):
        schema = {"type": "array", "items": schema}
    made = compiled(
        {"openapi": "3.0.0", "paths": {"/x": {"get": {"parameters": [{"name": "q", "in": "query", "schema": schema}]}}}}
    )
    assert json.dumps(made.functions[0].parameters).count("items") < 100


JUNK = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(max_size=5)
    | st.sampled_from(["#/paths", "#/a", "string", "body", "query"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "$ref",
                    "parameters",
                    "requestBody",
                    "responses",
                    "content",
                    "application/json",
                    "schema",
                    "properties",
                    "items",
                    "allOf",
                    "oneOf",
                    "type",
                    "enum",
                    "required",
                    "name",
                    "in",
                    "200",
                    "servers",
                    "url",
                    "get",
                    "post",
                    "additionalProperties",
                    "encoding",
                    "tags",
                    "summary",
                    "nullable",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(JUNK, JUNK, JUNK, st.sampled_from([{"openapi": "3.1.0"}, {"swagger": "2.0"}]))
def test_openapi_junk_never_crashes(item, operation, parameter, version):
    """Property: wrong types in any place give functions and reasons, never an exception; what comes out is JSON."""
    good = {"get": {"operationId": "good"}}
    paths = {
        "/good": good,
        "/item": item,
        "/op": {"post": operation},
        "/par": {"get": {"parameters": [parameter], "requestBody": item}},
    }
    made = compiled({**version, "paths": paths, "a": item, "servers": parameter, "info": operation})
    assert made.functions[0].name == "good"
    assert len(made.functions) + len(made.skipped) >= 3
    json.dumps([[f.parameters, f.returns, f.data] for f in made.functions] + [dict(made.definitions)], allow_nan=False)


@pytest.mark.slow
@given(st.binary(max_size=200))
def test_openapi_bytes_never_crash(raw):
    """Property: any bytes are a value or a ConfigError."""
    with suppress(ConfigError):
        json.dumps(parse(raw, "x"), allow_nan=False)


@pytest.mark.slow
@pytest.mark.parametrize(
    "document", ['{"openapi": "3.0.0", "paths": {}, "x": %s}', "openapi: 3.0.0\npaths: {}\nx: %s\n"]
)
@pytest.mark.parametrize("number", ["9" * 5_000_000, "9_" * 2_500_000 + "9"], ids=["digits", "underscores"])
def test_openapi_long_numbers_are_refused(document, number):
    """Reading a number takes time by the square of its length."""
    started = time.process_time()
    with pytest.raises(ConfigError):
        compiled((document % number).encode())
    assert time.process_time() - started < 5


def numbered(count):
    return [{"name": "a" + "!" * (i % 400) + "?" * (i // 400), "in": "query"} for i in range(count)]


MANY: dict[str, Callable[[], Any]] = {
    "parameters": lambda: {"/p": {"get": {"parameters": numbered(5_000)}}},
    "operations": lambda: {
        f"/p{i}": {"get": {"operationId": "a" + "!" * (i % 190) + "?" * (i // 190)}} for i in range(2_500)
    },
    "shared": lambda: {f"/p{i}": {"get": {"parameters": [{"$ref": "#/x/long"}]}} for i in range(2_500)},
    "unknown": lambda: {
        f"/p{i}": {"get": {"parameters": [{"name": "q", "in": "query", "schema": {"$ref": f"#no{i}"}}]}}
        for i in range(2_500)
    },
    "definitions": lambda: {
        "/p": {"get": {"parameters": [{"name": "q", "in": "query", "schema": {"$ref": "#/x/0/same"}}]}}
    },
}


@pytest.mark.slow
def test_openapi_long_methods_do_not_clash():
    """Methods that differ only far behind are no methods, and take no time."""
    started = time.process_time()
    methods = {"A" * 30 + "".join(letters): {} for letters in itertools.product("ABCDEFGHIJ", repeat=4)}
    made = compiled({"openapi": "3.2.0", "paths": {"/p": {"additionalOperations": methods}}})
    assert (made.functions, len(made.skipped)) == ([], 10_000)
    assert time.process_time() - started < 5


@pytest.mark.slow
@pytest.mark.parametrize("name", MANY)
def test_openapi_many_that_clash_take_linear_time(name):
    """Thousands of names that become the same, of uses of one long text, of references to nothing: no time that
    grows with their square, which would be eight seconds."""
    parts = {f"{i}": {"same": {"properties": {"next": {"$ref": f"#/x/{i + 1}/same"}}}} for i in range(5_000)}
    parts["5000"] = {"same": {}}
    parts["long"] = {"name": "q", "in": "query", "description": "x" * 5_000_000}
    paths = MANY[name]()
    started = time.process_time()
    made = compiled({"openapi": "3.1.0", "paths": paths, "x": parts})
    assert (len(made.functions), made.skipped) == (len(paths), [])
    assert time.process_time() - started < 4


@pytest.mark.slow
def test_openapi_values_below_the_count_stay_small():
    """The largest document whose values are not counted takes some hundred megabytes, whatever is in it."""
    code = """
    import resource
    resource.setrlimit(resource.RLIMIT_AS, (2_000_000_000, 2_000_000_000))
    from doorward_openapi.document.document import _SMALL_DOCUMENT_BYTES, parse
    for unit, start, end in ((b'{"":0},', b'{"x":[', b"0]}"), (b"[],", b"x: [", b"[]]")):
        parse(start + unit * ((_SMALL_DOCUMENT_BYTES - 20) // len(unit)) + end, "t")
    print("well")
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "well\n"), done.stderr[-500:]
