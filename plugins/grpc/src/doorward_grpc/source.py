"""The source driver `grpc`: reads what a server offers, and calls it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar
from urllib.parse import urlsplit

import anyio
from doorward import (
    ApiError,
    Call,
    Compiled,
    ConfigError,
    DoorwardError,
    Function,
    InvalidArguments,
    LimitExceeded,
    ServerContext,
    ServerError,
    Settings,
)
from doorward.values import quoted

from doorward_grpc.settings import GRPCSettings

MAX_MESSAGE_BYTES = 16 * 2**20
"""Largest message."""
MAX_STREAM_BYTES = 64 * 2**20
"""Bytes of the messages of one stream."""
_SMALL_BYTES = 2**14
"""Larger messages are read in a thread: one of a megabyte may take a second."""
_FORM = b"2"
_STATUS = {
    "INVALID_ARGUMENT": 400, "FAILED_PRECONDITION": 400, "OUT_OF_RANGE": 400, "UNAUTHENTICATED": 401,
    "PERMISSION_DENIED": 403, "NOT_FOUND": 404, "ALREADY_EXISTS": 409, "ABORTED": 409, "RESOURCE_EXHAUSTED": 429,
    "UNIMPLEMENTED": 501,
}  # fmt: skip
"""The HTTP status that means the same as a code of gRPC."""


class GRPC:
    """Functions of a gRPC server. Methods that take a stream are none; one that answers a stream answers a list."""

    Settings: ClassVar[type[Settings]] = GRPCSettings

    def __init__(self, server: ServerContext[GRPCSettings]) -> None:
        self._server, self._settings = server, server.settings
        self._channel: Any = None
        self._read: tuple[list[str], dict[str, bytes]] | None = None
        self._pool: Any = None
        self._reading = anyio.Lock()

    async def fingerprint(self) -> str:
        """The hash of the descriptors. Raises: ServerError, ConfigError."""
        services, files = self._read = await self._described()
        self._pool = None
        total = hashlib.sha256(_FORM + repr((sorted(services), self._settings.services)).encode())
        for name in sorted(files):
            total.update(f"{name}\n{len(files[name])}\n".encode() + files[name])
        return total.hexdigest()

    async def compile(self) -> Compiled:
        """A function for each method. Raises: ServerError, ConfigError."""
        from doorward_grpc.functions import compiled

        pool = await self._described_pool()
        services = self._read[0] if self._read else []
        try:
            return await anyio.to_thread.run_sync(compiled, self._server.name, pool, services, self._settings.services)
        except KeyError as error:
            raise ServerError(f"{self._server.name}: its descriptors lack {str(error)[:200]}") from None

    async def call(self, call: Call) -> Any:
        """Call a method. Raises: ApiError, ServerError, InvalidArguments, LimitExceeded."""
        import grpc
        from google.protobuf import json_format, message_factory

        pool, data = await self._described_pool(), call.function.data
        try:
            method = pool.FindServiceByName(data["service"]).FindMethodByName(data["method"])
        except KeyError:
            method = None
        if method is None:
            self._server.changed()
            raise ServerError(f"{call.function.qualified} is gone: its server has it no more")
        request = message_factory.GetMessageClass(method.input_type)()
        try:
            json_format.ParseDict(dict(call.arguments), request, descriptor_pool=pool, max_recursion_depth=100)
        except (json_format.ParseError, TypeError, ValueError, RecursionError) as error:
            raise InvalidArguments(f"{call.function.qualified}: {' '.join(str(error).split())[:300]}") from None
        answers = message_factory.GetMessageClass(method.output_type)
        path = f"/{data['service']}/{data['method']}"
        make = self._opened().unary_stream if method.server_streaming else self._opened().unary_unary
        sending = make(
            path, request_serializer=type(request).SerializeToString, response_deserializer=answers.FromString
        )
        seconds = min(self._settings.timeout, call.time_left)
        try:
            if not method.server_streaming:
                return await self._plain(await sending(request, timeout=seconds, metadata=self._metadata()), pool)
            found: list[Any] = []
            size = 0
            stream = sending(request, timeout=seconds, metadata=self._metadata())
            async for message in stream:
                if len(found) == self._settings.messages:
                    stream.cancel()
                    raise LimitExceeded(f"{call.function.qualified} answers more than {len(found)} messages")
                if (size := size + message.ByteSize()) > MAX_STREAM_BYTES:
                    stream.cancel()
                    raise LimitExceeded(f"{call.function.qualified} answers more than {MAX_STREAM_BYTES // 2**20} MiB")
                found.append(await self._plain(message, pool))
            return found
        except grpc.aio.AioRpcError as error:
            raise self._error(call.function.qualified, error) from None

    @staticmethod
    def upstreams(settings: GRPCSettings, function: Function | None) -> list[str]:
        """See `doorward.abilities.TellsUpstreams`: where the server is."""
        return [settings.url]

    async def close(self) -> None:
        if self._channel is not None:
            await self._channel.close()

    async def _plain(self, message: Any, pool: Any) -> Any:
        from google.protobuf import json_format

        made = partial(json_format.MessageToDict, message, preserving_proto_field_name=True, descriptor_pool=pool)
        return made() if message.ByteSize() < _SMALL_BYTES else await anyio.to_thread.run_sync(made)

    async def _described(self) -> tuple[list[str], dict[str, bytes]]:
        """Raises: ServerError, ConfigError."""
        import grpc

        from doorward_grpc.reflection import MAX_BYTES, from_file, reflected

        if self._server.auth() is not None:
            hint = 'Set metadata = { authorization = "Bearer ${TOKEN}" } in its place.'
            raise ConfigError("`auth` is for HTTP", place=f"[servers.{self._server.name}]", hint=hint)
        try:
            if self._settings.descriptors is not None:
                file = anyio.Path(self._server.folder / self._settings.descriptors)
                if (await file.stat()).st_size > MAX_BYTES:
                    raise ServerError("its file of descriptors is too large")
                return from_file(await file.read_bytes())
            return await reflected(self._opened(), self._metadata(), self._settings.timeout)
        except OSError as error:
            raise ConfigError(f"cannot be read: {error.strerror}", place=str(self._settings.descriptors)) from None
        except grpc.aio.AioRpcError as error:
            raise self._error(f"{self._server.name} (reflection)", error) from None
        except ServerError as error:
            raise ServerError(f"{self._server.name}: {error}", hint=error.hint) from None

    async def _described_pool(self) -> Any:
        from doorward_grpc.reflection import pool_of

        async with self._reading:
            if self._pool is None:
                if self._read is None:
                    self._read = await self._described()
                self._pool = await anyio.to_thread.run_sync(pool_of, self._read[1])
            return self._pool

    def _opened(self) -> Any:
        if self._channel is None:
            import grpc

            parts = urlsplit(self._settings.url)
            options = [
                ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES), ("grpc.enable_http_proxy", 0),
                ("grpc.primary_user_agent", "doorward"), ("grpc.service_config_disable_resolution", 1),
            ]  # fmt: skip
            address = f"{parts.hostname if ':' not in str(parts.hostname) else f'[{parts.hostname}]'}:{parts.port}"
            self._channel = (
                grpc.aio.secure_channel(address, grpc.ssl_channel_credentials(), options)
                if parts.scheme == "grpcs"
                else grpc.aio.insecure_channel(address, options)
            )
        return self._channel

    def _metadata(self) -> list[tuple[str, str]]:
        given: Mapping[str, Any] = self._settings.metadata
        return [(name, value.reveal()) for name, value in given.items()]

    def _error(self, what: str, error: Any) -> DoorwardError:
        """What an error of gRPC means."""
        code, said = error.code().name, quoted(str(error.details() or "")[:1000])
        if code in ("UNAVAILABLE", "CANCELLED"):
            return ServerError(f"{what}: the server cannot be reached: {said}")
        if code == "DEADLINE_EXCEEDED":
            return LimitExceeded(f"{what}: the server took too long", hint="Ask for less, or set a longer `timeout`.")
        return ApiError(f"{what} answered {code}: {said}", status=_STATUS.get(code, 500))
