"""Answers: streams, files, encodings and what says one thing and is another. The data is never hidden."""

from __future__ import annotations

import contextlib
import gzip
import json
import resource
import time
import tracemalloc
import zlib

import anyio
import pytest
from doorward import ApiError, DoorwardError, Reply, ServerError
from doorward.values import quoted
from doorward_http import zstd_module as zstd
from doorward_openapi.calls import answers, exchanges
from doorward_openapi.calls.answers import Answer
from doorward_openapi.wire import streams

pytestmark = pytest.mark.anyio

EVENTS = "text/event-stream"


@pytest.mark.parametrize(
    ("media", "body", "value"),
    [
        ("application/x-ndjson", b'{"a":1}\n\n[2]\r\n"x"', [{"a": 1}, [2], "x"]),
        ("application/jsonl; charset=utf-8", b"\xef\xbb\xbf1\nnot json\n2\n", [1, "not json", 2]),
        ("application/json-seq", b'\x1e{"a":1}\n\x1e2\n\x1e"x', [{"a": 1}, 2, '"x']),
        (EVENTS, b'data: {"a":1}\n\ndata: two\ndata: lines\n\n: comment\n\ndata: [DONE]\n\n', [{"a": 1}, "two\nlines"]),
        (EVENTS, b"event: add\r\nid: 7\r\ndata: 1\r\n\r\ndata: 2\r\n\r\n", [{"event": "add", "id": "7", "data": 1}, {"data": 2}]),
        (EVENTS, b"event: ping\n\nretry: 10\n\ndata\n\ndata:x", ["", "x"]),
        (EVENTS, b"data: 1180591620717411303424\rdata:\r\r", [2**70]),
        ("application/json", b'{"status":"Pulling"}\r\n{"status":"Done"}\r\n', [{"status": "Pulling"}, {"status": "Done"}]),
        ("application/json", b'{\n"a": 1\n}\n', {"a": 1}),
        ("application/json", b'{"a": 1', '{"a": 1'),
        ("application/json", b'{"a":1}\nnot json\n', '{"a":1}\nnot json\n'),
        ("application/json", b'\xef\xbb\xbf{"a":1}', {"a": 1}),
        ("application/json", '{"ä":1}'.encode("utf-16"), {"ä": 1}),
        ("application/json; charset=latin-1", '{"a":"ä"}'.encode("latin-1"), {"a": "ä"}),
        ("application/json", b")]}'\n{\"gerrit\": true}", {"gerrit": True}),
        ("application/json", b'{"a":1,"a":2}', {"a": 2}),
        ("application/json", b"[1180591620717411303424, 9007199254740993, 0.1]", [2**70, 2**53 + 1, 0.1]),
        ("application/json", b"[NaN, -Infinity, 1e999]", [None, None, None]),
        ("application/vnd.x+json", b" null ", None),
        ("application/json", b"", None),
        ("text/plain; charset=utf-8", b"\xef\xbb\xbfx", "x"),
        ("text/plain; charset=base64", b"x", "x"),
        ("text/plain; charset=shift_jis", "日本".encode("shift_jis"), "日本"),
        ("application/xml", b"<a/>", "<a/>"),
        ("image/svg+xml", b"<svg/>", "<svg/>"),
        ("application/javascript", b"f()", "f()"),
        ("application/x-shockwave-flash", b"CWS", Reply(b"CWS", type="application/x-shockwave-flash")),
        ("application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", b"PK\x03",
         Reply(b"PK\x03", type="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet")),
        ("", b"\xff\xfe\x00", Reply(b"\xff\xfe\x00", type="application/octet-stream")),
        ("x" * 300, b"\xff", Reply(b"\xff", type="application/octet-stream")),
    ],
)  # fmt: skip
async def test_openapi_answers_by_media_type(api, operation, upstream, media, body, value):
    """Streams are lists, JSON its value, exact, text a string by its charset, anything else bytes with their type."""
    upstream.answers["/x"] = (200, {"Content-Type": media}, body)
    assert await (await api(operation())).call("op") == value


@pytest.mark.parametrize(
    ("body", "charset", "value"),
    [
        (b'{"a":"x\x01y"}', None, {"a": "x\x01y"}),
        (b'{"a":"\\ud800"}', None, {"a": "\ud800"}),
        (b"[NaN, 1e999]", None, [None, None]),
        (b"1" * 5000, None, "1" * 5000),
        (b'["\xff"]', None, ["\ufffd"]),
        (b'["\xe4"]', "latin-1", ["ä"]),
        ('["ä"]'.encode(), "latin-1", ["ä"]),
        ('["ä\ufffd"]'.encode(), "latin-1", ["ä\ufffd"]),
        ('["ä"]'.encode("utf-16"), "latin-1", ["ä"]),
    ],
)
def test_openapi_json_is_the_same_at_any_size(body, charset, value):
    """Whatever a reader does not take at once is read alike, whether the answer is short or long."""
    space = " " * 70_000
    padding = space.encode("utf-16-le") if body[:2] == b"\xff\xfe" else space.encode()
    for size in (b"", padding):
        assert answers.value_of("it", Answer(200, "", "application/json", charset, body + size)) == value


def test_openapi_deep_json_is_the_same_at_any_size():
    """What is nested too deeply for a reader is no text, but is cut at the same level."""
    deep = b"[" * 5000 + b"]" * 5000
    short, long = (
        answers.value_of("it", Answer(200, "", "application/json", None, deep + size)) for size in (b"", b" " * 70_000)
    )
    assert isinstance(short, list)
    while isinstance(short, list):
        [short], [long] = short, long
    assert short == long == "…"


@pytest.mark.parametrize("status", [204, 205, 304])
async def test_openapi_no_content_is_none(api, operation, upstream, status):
    """Nothing is None."""
    upstream.answers["/x"] = (status, {"Content-Type": "application/json"}, b"")
    assert await (await api(operation())).call("op") is None


@pytest.mark.parametrize(
    ("disposition", "name"),
    [
        ('attachment; filename="report 1.pdf"', "report 1.pdf"),
        ("attachment; filename=plain.txt", "plain.txt"),
        ("attachment; filename*=UTF-8''%e2%82%ac%20rates.csv", "€ rates.csv"),
        ('attachment; filename="../../etc/passwd"', "passwd"),
        (r'attachment; filename="C:\\dir\\x.exe"', "x.exe"),
        ("attachment; filename*=UTF-8''..%2f..%2fa%0d%0ab", "ab"),
        ("attachment; filename*=nonsense''%ff", ""),
        ('attachment; filename=".."', ""),
        ("inline", ""),
        ("", ""),
        ("attachment; filename=" + "a" * 1000, "a" * 1000),  # cut by the core, which first removes credentials
        ("attachment; filename*=a; filename*0*=b", ""),
        ("x" * 5000, ""),
    ],
)
def test_openapi_file_names(disposition, name):
    """The file name of an answer has no folder, no control characters and an end; nonsense is no name."""
    if "nonsense" in disposition:
        assert "/" not in answers.file_name(disposition)
    else:
        assert answers.file_name(disposition) == name


async def test_openapi_files_have_type_and_name(api, operation, upstream):
    """Bytes come with their media type and file name."""
    upstream.answers["/x"] = (
        200,
        {"Content-Type": "Image/PNG; q=1", "Content-Disposition": 'attachment; filename="a.png"'},
        b"\x89",
    )
    assert await (await api(operation())).call("op") == Reply(b"\x89", type="image/png", name="a.png")


@pytest.mark.parametrize(
    ("coding", "body", "value"),
    [
        ("gzip", gzip.compress(b'{"a":1}', mtime=0), {"a": 1}),
        ("deflate", zlib.compress(b'{"a":1}'), {"a": 1}),
        ("zstd", zstd().compress(b'{"a":1}'), {"a": 1}),
        ("identity", b'{"a":1}', {"a": 1}),
        ("compress", b"\x1f\x9d", Reply(b"\x1f\x9d", type="application/compress")),
    ],
)
async def test_openapi_content_codings(api, operation, upstream, coding, body, value):
    """What we can decompress is decompressed; anything else is a file of that coding, not broken text."""
    upstream.answers["/x"] = (200, {"Content-Type": "application/json", "Content-Encoding": coding}, body)
    assert await (await api(operation())).call("op") == value


@pytest.mark.slow
@pytest.mark.parametrize("coding", [gzip, zstd()])
async def test_openapi_no_more_is_unpacked_than_an_answer_may_have(api, operation, upstream, coding):
    """A few thousand bytes that become 200 MiB."""
    packed = coding.compress(b"[" + b" " * 200 * 2**20)
    name = coding.__name__.rpartition(".")[2]
    upstream.answers["/x"] = (200, {"Content-Type": "application/json", "Content-Encoding": name}, packed)
    tracemalloc.start()
    try:
        with pytest.raises(DoorwardError, match="MiB"):
            await (await api(operation())).call("op")
        assert tracemalloc.get_traced_memory()[1] < 150 * 2**20
    finally:
        tracemalloc.stop()


async def endless(listener, media, chunk, pause):
    """A server that never ends its answer."""

    async def serve(stream):
        async with stream:
            await stream.receive()
            await stream.send(
                f"HTTP/1.1 200 OK\r\nContent-Type: {media}\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
            )
            with contextlib.suppress(anyio.BrokenResourceError):
                while True:
                    await stream.send(f"{len(chunk):x}\r\n".encode() + chunk + b"\r\n")
                    await anyio.sleep(pause)

    await listener.serve(serve)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("media", "chunk", "first"),
    [
        (EVENTS, b'data: {"n":1}\n\n', {"n": 1}),
        ("application/x-ndjson", b'{"n":1}\n{"n"', {"n": 1}),
        ("application/json", b'{"n":1}\n', {"n": 1}),
    ],
)
async def test_openapi_endless_streams_end(api, operation, media, chunk, first):
    """A stream that never ends is cut when its time is over: what came is the answer, and says that it was cut."""
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    port = listener.extra(anyio.abc.SocketAttribute.local_port)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(endless, listener, media, chunk, 0.2)
        made = await api(operation(), base_url=f"http://127.0.0.1:{port}", timeout=3)
        value = await made.call("op")
        tasks.cancel_scope.cancel()
    await listener.aclose()
    assert value[0] == first
    assert value[-1].keys() == {"cut"}
    assert "did not end" in value[-1]["cut"]


@pytest.mark.slow
async def test_openapi_endless_json_is_told(api, operation):
    """JSON that never ends, and is no stream, is an error that says what to do."""
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    port = listener.extra(anyio.abc.SocketAttribute.local_port)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(endless, listener, "application/json", b"[1,", 0.2)
        made = await api(operation(), base_url=f"http://127.0.0.1:{port}", timeout=3)
        with pytest.raises(ServerError, match="did not end") as raised:
            await made.call("op")
        tasks.cancel_scope.cancel()
    await listener.aclose()
    assert "timeout" in raised.value.hint


async def test_openapi_large_streams_are_cut(api, operation, upstream, monkeypatch):
    """A stream beyond the limits of bytes or values gives what fits, and says so."""
    from doorward_openapi.calls import client

    upstream.answers["/x"] = (200, {"Content-Type": "application/x-ndjson"}, b'{"a":1}\n' * (streams.MAX_VALUES + 5))
    made = await api(operation())
    value = await made.call("op")
    assert (len(value), value[-1]) == (
        streams.MAX_VALUES + 1,
        {"cut": f"there are more than {streams.MAX_VALUES} values"},
    )
    monkeypatch.setattr(client, "MAX_RESPONSE_BYTES", 50_000)
    value = await made.call("op")
    assert 1 < len(value) < streams.MAX_VALUES
    assert value[0] == {"a": 1}
    assert "MiB" in value[-1]["cut"]


async def test_openapi_response_mismatch_never_hides_the_data(api, operation, upstream):
    """What does not fit the schema of the response comes as it is."""
    responses = {
        "200": {"description": "", "content": {"application/json": {"schema": {"type": "object", "required": ["id"]}}}}
    }
    made = await api(operation(responses=responses))
    for body in (["not", "an", "object"], "text", 5):
        upstream.answers["/x"] = (200, {"Content-Type": "application/json"}, json.dumps(body).encode())
        assert await made.call("op") == body


@pytest.mark.parametrize(
    ("media", "body", "told", "kept"),
    [
        (
            "application/problem+json",
            b'{"type":"https://p.test/credit","title":"No credit","detail":"30 short","instance":"/a/1","balance":30}',
            "No credit: 30 short",
            {"type": "https://p.test/credit", "title": "No credit", "detail": "30 short", "instance": "/a/1", "balance": 30},
        ),
        ("application/problem+json", b'{"title":"Invalid","errors":[{"detail":"must be positive","pointer":"#/age"}]}',
         "Invalid: #/age: must be positive", {"title": "Invalid", "errors": [{"detail": "must be positive", "pointer": "#/age"}]}),
        ("application/xml", b"<Error><Code>NoKey</Code><Message>no such key</Message></Error>", "no such key",
         "<Error><Code>NoKey</Code><Message>no such key</Message></Error>"),
        ("text/html", b"<html><body>Oops</body></html>", "Oops", "<html><body>Oops</body></html>"),
        ("text/plain", b"quota  exceeded\n", "quota exceeded", "quota  exceeded\n"),
        ("application/json", b"not json", "not json", "not json"),
        ("application/json", b'{"loc":[1],"value":2}', {"loc": [1], "value": 2}, {"loc": [1], "value": 2}),
        ("application/octet-stream", b'{"detail": "of no type"}', "of no type", '{"detail": "of no type"}'),
        ("", b"", "", None),
    ],
)  # fmt: skip
async def test_openapi_errors_keep_the_body(api, operation, upstream, media, body, told, kept):
    """An error has the status, what the body says (RFC 9457 `title` and `detail`), the body with extensions, and
    `retry_after`."""
    upstream.answers["/x"] = (409, {"Content-Type": media, "Retry-After": "3"}, body)
    with pytest.raises(ApiError) as raised:
        await (await api(operation())).call("op")
    error = raised.value
    assert (error.status, error.body, error.retry_after) == (409, kept, 3.0)
    said = json.dumps(told) if isinstance(told, dict) else quoted(told)
    assert str(error).partition("answered 409 Conflict")[2] == (f": {said}" if told else "")


def test_openapi_what_is_forbidden_may_not_be_there():
    """A 403 does not blame the credentials first: some APIs answer so for what does not exist. What lacks credentials
    is told so."""
    hints = [answers.error_of("it", Answer(status, "", "", None, b"")).hint for status in (401, 403, 404)]
    assert hints[1].index("does not exist") < hints[1].index("credentials")
    assert "by a function that lists them" in hints[2]
    assert "does not exist" not in hints[0]
    assert answers.error_of("it", Answer(403, "", "", None, b""), lambda: "Set auth.").hint == "Set auth."


def test_openapi_errors_that_are_no_text():
    """Of bytes it is said what they are; of a body that did not end, why there is none."""
    image = answers.error_of("it", Answer(409, "", "image/png", None, b"\x89P\0"))
    assert (str(image), image.body) == ("it answered 409 Conflict: 3 bytes of image/png", "\ufffdP\0")
    cut = answers.error_of(
        "it", Answer(500, "", "text/plain", None, b"half of a cred", cut="it did not end within 2 seconds")
    )
    assert (str(cut), cut.body) == (
        "it answered 500 Internal Server Error: its body is left out: it did not end within 2 seconds",
        None,
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("media", "body"),
    [
        ("text/plain; charset=punycode", lambda: b"-" + b"a" * 4_000_000),
        ("text/plain; charset=IDNA", lambda: b"xn--a." * 400_000),
        ("application/json", lambda: b"[" + b"[]," * 10_000_000 + b"[]]"),
        ("application/json", lambda: b"[" + b'{"a":1},' * 5_000_000 + b"1]"),
        ("application/x-ndjson", lambda: (b"[" + b"[]," * 1000 + b"1]\n") * 10_000),
        (EVENTS, lambda: b"data:\n\n" * 5_000_000),
        (EVENTS, lambda: b"\n" * 40_000_000),
        (EVENTS, lambda: b"data\n" * 8_000_000),
        (EVENTS, lambda: b":\n\n" * 12_000_000),
        ("application/x-ndjson", lambda: b"1\n" * 20_000_000),
        ("application/x-ndjson", lambda: b" \n" * 20_000_000),
        ("application/json-seq", lambda: b"\x1e1\n" * 12_000_000),
    ],
)
def test_openapi_answers_cannot_exhaust_the_host(media, body):
    """Tens of megabytes that stand for gigabytes of values, or for hours of decoding, stop nobody else for long."""
    charset = media.partition("charset=")[2] or None
    before, started = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    value = answers.value_of("it", Answer(200, "", media, charset, body()))
    assert isinstance(value, str) or len(value) <= streams.MAX_VALUES + 1
    assert time.process_time() - started < 5
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 500_000  # KiB


def test_openapi_answers_of_many_values_are_text(monkeypatch):
    """They are counted, and never made; commas in a text of the answer are none."""
    monkeypatch.setattr(answers, "_MAX_VALUES", 1000)
    many = b"[" + b"[]," * 600 + b"[]]"
    assert answers.value_of("it", Answer(200, "", "application/json", None, many)) == many.decode()
    csv = json.dumps({"csv": "a,b\n" * 2000}).encode()
    assert answers.value_of("it", Answer(200, "", "application/json", None, csv)) == {"csv": "a,b\n" * 2000}


async def test_openapi_deep_answers_are_not_lost(api, operation, upstream):
    """What tells of a next page is not looked for in any depth."""
    body = b'{"data":' * 400 + b"1" + b"}" * 400
    upstream.answers["/x"] = (200, {"Content-Type": "application/json"}, body)
    value = await (await api(operation(parameters=[{"name": "page", "in": "query"}]))).call("op")
    assert list(value) == ["data"]


@pytest.mark.parametrize("media", ["application/json", "text/plain", EVENTS])
def test_openapi_errors_are_not_cut_in_the_middle(media):
    """Of an error nothing is cut before the core has removed credentials: half of one would not be found."""
    body = b"data: " + b"x" * 199_990 + b"the-credential-of-the-call" + b"y" * 100
    assert "the-credential-of-the-call" in str(answers.error_of("it", Answer(401, "", media, None, body)).body)
    assert "the-cred" not in str(
        answers.error_of("it", Answer(401, "", media, None, body[:200_010], cut="it did not end")).body
    )


@pytest.mark.slow
@pytest.mark.anyio
async def test_openapi_large_answers_are_read_beside_the_loop(api, operation, upstream):
    """Piece by piece, and to the same values: long texts, many values, other charsets, what is no JSON."""
    values = {"text": "é\n" * 300_000, "items": [{"n": n, "x": 1.5} for n in range(30_000)], "none": None}
    call = (await api(operation())).call
    for body, charset in (
        (json.dumps(values), "utf-8"),
        (json.dumps(values, ensure_ascii=False), "latin-1"),
        (json.dumps(values), "utf-16"),
    ):
        upstream.answers["/x"] = (200, {"Content-Type": f"application/json; charset={charset}"}, body.encode(charset))
        assert await call("op") == values
    upstream.answers["/x"] = (
        200,
        {"Content-Type": "application/json"},
        b'{"a": NaN, "b": 1e999, "c": "' + b"x" * 100_000 + b'"}',
    )
    assert await call("op") == {"a": None, "b": None, "c": "x" * 100_000}
    upstream.answers["/x"] = (200, {"Content-Type": "application/json"}, b"no json " * 20_000)
    assert await call("op") == "no json " * 20_000


@pytest.mark.parametrize("size", [10, 5_000_000])
@pytest.mark.parametrize("charset", ["zlib", "bz2", "hex", "base64", "uu", "quopri", "rot13", "undefined", "nothing"])
def test_openapi_a_charset_that_is_no_encoding_of_text(charset, size):
    """Whatever the size of a text, a codec that makes no text of bytes counts as none."""
    body = b"a" * size
    assert answers.value_of("it", Answer(200, "", f"text/plain; charset={charset}", charset, body)) == body.decode()


def test_openapi_equal_headers_are_joined_at_once():
    """As many header lines as fit into a head: no line copies those before it."""
    found = exchanges.by_name([(b"X-A", b"b")] * 45_000)
    assert found == {"x-a": ", ".join(["b"] * 45_000)}
