"""A real gRPC server with reflection behind the source `grpc`: calls, streams, errors, and hostile descriptions."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from doorward import ApiError, InvalidArguments, LimitExceeded, ServerError
from doorward_grpc import GRPC
from doorward_grpc.functions import compiled
from doorward_grpc.reflection import from_file, pool_of
from doorward_grpc.settings import GRPCSettings
from doorward_testing import Host, check_driver
from google.protobuf import descriptor_pb2, message_factory
from google.protobuf.timestamp_pb2 import DESCRIPTOR as TIMESTAMP
from grpc_reflection.v1alpha import reflection
from pydantic import ValidationError

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

SERVICE = "notes.v1.Notes"
CANARY = "canary-51c7e0aa93"
F = descriptor_pb2.FieldDescriptorProto


def described() -> descriptor_pb2.FileDescriptorProto:
    """`notes.proto`, as protoc describes it."""
    file = descriptor_pb2.FileDescriptorProto(name="notes.proto", package="notes.v1", syntax="proto3")
    file.dependency.append("google/protobuf/timestamp.proto")
    kind = file.enum_type.add(name="Kind")
    kind.value.add(name="PLAIN", number=0)
    kind.value.add(name="LOUD", number=1)
    note = file.message_type.add(name="Note")
    fields: list[tuple[str, int, str, int]] = [
        ("text", F.TYPE_STRING, "", F.LABEL_OPTIONAL), ("stars", F.TYPE_INT64, "", F.LABEL_OPTIONAL),
        ("kind", F.TYPE_ENUM, ".notes.v1.Kind", F.LABEL_OPTIONAL), ("raw", F.TYPE_BYTES, "", F.LABEL_OPTIONAL),
        ("replies", F.TYPE_MESSAGE, ".notes.v1.Note", F.LABEL_REPEATED),
        ("made", F.TYPE_MESSAGE, ".google.protobuf.Timestamp", F.LABEL_OPTIONAL),
    ]  # fmt: skip
    for number, (name, type_, type_name, label) in enumerate(fields, 1):
        note.field.add(name=name, number=number, type=type_, type_name=type_name or None, label=label)  # type: ignore[arg-type]
    service = file.service.add(name="Notes")
    for name in ("GetNote", "Echo", "ListNotes", "Fail", "DeleteNote"):
        method = service.method.add(name=name, input_type=".notes.v1.Note", output_type=".notes.v1.Note")
        method.server_streaming = name == "ListNotes"
        if name == "Echo":
            method.options.idempotency_level = descriptor_pb2.MethodOptions.NO_SIDE_EFFECTS
    service.method.add(name="Take", input_type=".notes.v1.Note", output_type=".notes.v1.Note", client_streaming=True)
    return file


def descriptor_set() -> bytes:
    timestamp = descriptor_pb2.FileDescriptorProto()
    TIMESTAMP.CopyToProto(timestamp)
    return descriptor_pb2.FileDescriptorSet(file=[described(), timestamp]).SerializeToString()


@pytest.fixture
async def server(anyio_backend: str) -> AsyncIterator[tuple[str, list[Any]]]:
    """The address of a server of notes, and the metadata that it got."""
    pool = pool_of(from_file(descriptor_set())[1])
    note = message_factory.GetMessageClass(pool.FindMessageTypeByName("notes.v1.Note"))
    got: list[Any] = []

    async def echo(request: Any, context: Any) -> Any:
        got.append(dict(context.invocation_metadata()))
        return request

    async def fail(request: Any, context: Any) -> Any:
        await context.abort(grpc.StatusCode.NOT_FOUND, "there is no note\x1b[2K")

    async def listed(request: Any, context: Any) -> AsyncIterator[Any]:
        for number in range(int(request.stars)):
            yield note(text=f"n{number}")

    def unary(behavior: Any) -> Any:
        return grpc.unary_unary_rpc_method_handler(behavior, note.FromString, note.SerializeToString)

    handlers = {name: unary(echo) for name in ("GetNote", "Echo", "DeleteNote")}
    handlers["Fail"] = unary(fail)
    handlers["ListNotes"] = grpc.unary_stream_rpc_method_handler(listed, note.FromString, note.SerializeToString)
    made = grpc.aio.server()
    made.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, handlers),))
    reflection.enable_server_reflection((SERVICE, reflection.SERVICE_NAME), made, pool=pool)
    port = made.add_insecure_port("127.0.0.1:0")
    await made.start()
    yield f"grpc://127.0.0.1:{port}", got
    await made.stop(None)


@pytest.fixture
def host(doorward_host: Host) -> Host:
    doorward_host.install("source", "grpc", GRPC)
    return doorward_host


async def test_by_reflection(host: Host, server: tuple[str, list[Any]]) -> None:
    """Methods are functions with typed messages, nested without end too; streams are lists; metadata goes along, and
    its secret stands nowhere else; errors have their status."""
    address, got = server
    config = f'[servers.notes]\nsource = "grpc"\nurl = "{address}"\nmessages = 3\n'
    config += 'metadata = { authorization = "Bearer ${NOTES_TOKEN}" }\n'
    async with host.gateway(config, environ={"NOTES_TOKEN": CANARY}) as gate:
        await gate.ready()
        functions = {function.name: function for function in gate.catalog.functions("notes")}
        assert {*functions} == {"get_note", "echo", "list_notes", "fail", "delete_note"}
        assert (functions["echo"].read_only, functions["get_note"].guessed_read) == (True, True)
        assert functions["delete_note"].guessed_destructive
        given = {
            "text": "ø",
            "stars": 2**60,
            "kind": "LOUD",
            "replies": [{"text": "r"}],
            "made": "2026-01-02T03:04:05Z",
        }
        assert await gate.call("notes.echo", given) == {**given, "stars": str(2**60)}
        assert got[-1]["authorization"] == f"Bearer {CANARY}"
        assert await gate.call("notes.list_notes", {"stars": 2}) == [{"text": "n0"}, {"text": "n1"}]
        with pytest.raises(LimitExceeded, match="more than 3"):
            await gate.call("notes.list_notes", {"stars": 4})
        with pytest.raises(ApiError, match="NOT_FOUND") as failed:
            await gate.call("notes.fail")
        assert failed.value.status == 404
        assert "\x1b" not in str(failed.value)
        for wrong in ({"kind": "QUIET"}, {"stars": 2**70}, {"made": "yesterday"}, {"no": 1}, {"replies": [{"x": 1}]}):
            with pytest.raises(InvalidArguments):
                await gate.call("notes.echo", wrong)
        assert functions["echo"].parameters["properties"]["kind"]["enum"] == ["PLAIN", "LOUD"]
        assert CANARY not in repr(functions) + repr(gate.catalog.report("notes"))


async def test_by_a_file(host: Host, server: tuple[str, list[Any]]) -> None:
    """What protoc has written stands for reflection; a server that is gone, and one that says nothing, are told."""
    Path(host.folder / "notes.binpb").write_bytes(descriptor_set())
    config = '[servers.notes]\nsource = "grpc"\nurl = "{}"\ndescriptors = "notes.binpb"\ntimeout = 5\n'
    async with host.gateway(config.format(server[0])) as gate:
        assert await gate.call("notes.get_note", {"text": "a"}) == {"text": "a"}
    async with host.gateway(config.format("grpc://127.0.0.1:1")) as gate:
        with pytest.raises(ServerError, match="cannot be reached"):
            await gate.call("notes.get_note", {"text": "a"})
    other = '[servers.notes]\nsource = "grpc"\nurl = "{}"\nauth = {{ type = "bearer", token = "x" }}\n'
    host.install_real("bearer")
    async with host.gateway(other.format(server[0])) as gate:
        assert "for HTTP" in str((await gate.list_servers())["servers"][0]["broken"])


def test_hostile_descriptions() -> None:
    """Descriptors that need one another, that lack what they need, that contradict, or are none are errors."""
    circle = [descriptor_pb2.FileDescriptorProto(name=a, dependency=[b]) for a, b in ("ab", "ba")]
    lacks = described()
    twice = described()
    twice.message_type.add(name="Note")
    for files in (circle, [lacks], [twice]):
        raw = descriptor_pb2.FileDescriptorSet(file=files).SerializeToString()
        with pytest.raises(ServerError, match="descriptors"):
            pool_of(from_file(raw)[1])
    with pytest.raises(ServerError, match="cannot be read"):
        from_file(b"\xff" * 100)
    vast = descriptor_pb2.FileDescriptorProto(name="vast.proto", package="v", syntax="proto3")
    message, service = vast.message_type.add(name="M"), vast.service.add(name="S")
    for number in range(1, 2001):
        message.field.add(name=f"f{number}", number=number, type=F.TYPE_STRING, label=F.LABEL_OPTIONAL)
        service.method.add(name=f"Do{number}", input_type=".v.M", output_type=".v.M")
    names, files = from_file(descriptor_pb2.FileDescriptorSet(file=[vast]).SerializeToString())
    with pytest.raises(ServerError, match="fields"):
        compiled("s", pool_of(files), names, ["*"])


def test_what_begins_as_a_read() -> None:
    """A method that does something besides, or takes a text in a language that can write, is no guessed read."""
    file = descriptor_pb2.FileDescriptorProto(name="r.proto", package="r", syntax="proto3")
    message, service = file.message_type.add(name="M"), file.service.add(name="S")
    message.field.add(name="sql", number=1, type=F.TYPE_STRING, label=F.LABEL_OPTIONAL)
    reads = ["GetSettings", "ListAddresses", "CheckLogin", "GetInfo"]
    for name in (*reads, "GetOrCreateUser", "CheckAndMutateRow", "FindAndDelete", "CheckOut", "Query"):
        service.method.add(name=name, input_type=".r.M", output_type=".r.M")
    names, files = from_file(descriptor_pb2.FileDescriptorSet(file=[file]).SerializeToString())
    made = compiled("s", pool_of(files), names, ["*"]).functions
    assert [each.id.rpartition(".")[2] for each in made if each.guessed_read] == reads


@pytest.mark.parametrize(
    "settings",
    [
        {"url": "grpc://api.example.com:443"},
        {"url": "https://api.example.com"},
        {"url": "grpcs://user:x@api.example.com:443"},
        {"url": "grpcs://api.example.com"},
        {"url": "grpcs://api.example.com:443", "metadata": {"Authorization": "x"}},
        {"url": "grpcs://api.example.com:443", "metadata": {"grpc-timeout": "x"}},
    ],
)
def test_settings_that_are_refused(settings: dict[str, Any]) -> None:
    """No TLS to another machine, no address, a password in it, metadata that is the protocol's own."""
    with pytest.raises(ValidationError):
        GRPCSettings(**settings)


def test_it_is_installed() -> None:
    """The driver is found under its word in the configuration."""
    assert check_driver("source", "grpc") is GRPC
