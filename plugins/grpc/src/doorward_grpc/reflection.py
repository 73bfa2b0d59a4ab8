"""What a server says of itself: the descriptors of its services, by the reflection protocol or from a file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import grpc
from doorward import ServerError
from google.protobuf import descriptor_pb2, descriptor_pool
from google.protobuf.message import DecodeError
from grpc_reflection.v1alpha import reflection_pb2

MAX_FILES, MAX_BYTES = 2_000, 16 * 2**20
"""Files, and their bytes, that describe one server."""
_VERSIONS = ("v1", "v1alpha")
_OWN = ("grpc.reflection.", "grpc.health.", "grpc.channelz.")

Files = Mapping[str, bytes]
"""Descriptors of files by their names."""


async def reflected(channel: grpc.aio.Channel, metadata: Any, seconds: float) -> tuple[list[str], dict[str, bytes]]:
    """The services of a server, and the files that describe them. Raises: grpc.aio.AioRpcError, ServerError."""
    for version in _VERSIONS:
        asking = channel.stream_stream(
            f"/grpc.reflection.{version}.ServerReflection/ServerReflectionInfo",
            request_serializer=reflection_pb2.ServerReflectionRequest.SerializeToString,
            response_deserializer=reflection_pb2.ServerReflectionResponse.FromString,
        )

        async def ask(asking: Any = asking, **request: str) -> Any:
            one = reflection_pb2.ServerReflectionRequest(**request)
            async for answer in asking(iter([one]), timeout=seconds, metadata=metadata):
                return answer
            raise ServerError("its reflection answers nothing")

        try:
            listed = await ask(list_services="*")
        except grpc.aio.AioRpcError as error:
            if error.code() is grpc.StatusCode.UNIMPLEMENTED and version != _VERSIONS[-1]:
                continue
            raise
        names = [each.name for each in listed.list_services_response.service if not each.name.startswith(_OWN)]
        files: dict[str, bytes] = {}
        todo = [{"file_containing_symbol": name} for name in names[:MAX_FILES]]
        size = 0
        while todo:
            answer = await ask(**todo.pop())
            for raw in answer.file_descriptor_response.file_descriptor_proto:
                found = _file(raw)
                if found.name in files:
                    continue
                files[found.name] = raw
                size += len(raw)
                if len(files) > MAX_FILES or size > MAX_BYTES or len(todo) + len(found.dependency) > 2 * MAX_FILES:
                    raise ServerError("its descriptors are too many, or too large")
                known = {*files, *(each.get("file_by_filename") for each in todo)}
                todo += [{"file_by_filename": name} for name in found.dependency if name not in known]
        return names, files
    raise AssertionError  # the last version returns or raises


def from_file(raw: bytes) -> tuple[list[str], dict[str, bytes]]:
    """The services and files of a descriptor set. Raises: ServerError."""
    try:
        found = descriptor_pb2.FileDescriptorSet.FromString(raw)
    except DecodeError:
        raise ServerError("its file of descriptors cannot be read", hint="Write it with protoc.") from None
    files = {each.name: each.SerializeToString() for each in found.file}
    names = [f"{f.package}.{s.name}".strip(".") for f in found.file for s in f.service]
    return [name for name in names if not name.startswith(_OWN)], files


def pool_of(files: Files) -> descriptor_pool.DescriptorPool:
    """The descriptors, each after those that it needs. Raises: ServerError for what does not fit together."""
    pool = descriptor_pool.DescriptorPool()
    parsed = {name: _file(raw) for name, raw in files.items()}
    done: set[str] = set()
    while left := [each for name, each in parsed.items() if name not in done]:
        ready = [each for each in left if all(name in done or name not in parsed for name in each.dependency)]
        if not ready:
            raise ServerError("its descriptors need one another in a circle")
        for each in ready:
            try:
                pool.Add(each)
                pool.FindFileByName(each.name)
            except (TypeError, KeyError) as error:
                raise ServerError(f"its descriptors do not fit together: {str(error)[:200]}") from None
            done.add(each.name)
    return pool


def _file(raw: bytes) -> descriptor_pb2.FileDescriptorProto:
    try:
        return descriptor_pb2.FileDescriptorProto.FromString(raw)
    except DecodeError:
        raise ServerError("its descriptors cannot be read") from None
