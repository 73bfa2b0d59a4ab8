"""One API for the whole run, and the product served from it in every way: by both transports, in both eras of the
protocol."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest

from .product import Agent, Api, Project, apart, connected

LIMITS = "[limits]\nrate = 100000\n"
SHELF = """
[servers.shelf]
source = "openapi"
spec = "{url}/openapi.json"
headers = {{ X-Version = "2022-11-28" }}
"""
WAYS = ("stdio-auto", "stdio-legacy", "http-auto", "http-legacy")


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def engine(docker_engine: Any) -> Any:
    """A container engine, with the plain image of the executor `docker`."""
    return docker_engine.shared()


@pytest.fixture(scope="session")
def api() -> Iterator[Api]:
    with Api() as api:
        yield api


@pytest.fixture(scope="module")
def shelf(api: Api, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project with the server `shelf`, for all tests of a module."""
    return Project(tmp_path_factory.mktemp("shelf"), LIMITS + SHELF.format(url=api.url))


@pytest.fixture(scope="module")
def http_url(shelf: Project) -> Iterator[str]:
    with shelf.http() as (url, _):
        yield url


@pytest.fixture(scope="module", params=WAYS)
async def agent(request: Any, anyio_backend: str, shelf: Project) -> AsyncIterator[Agent]:
    """A client of `shelf`, in every way in which one can connect."""
    transport, era = request.param.split("-")
    if transport == "stdio":
        async with apart(shelf.stdio(era)) as agent:
            yield agent
    else:
        async with apart(connected(request.getfixturevalue("http_url"), era)) as agent:
            yield agent


@pytest.fixture(scope="module")
async def stdio(anyio_backend: str, shelf: Project) -> AsyncIterator[Agent]:
    """A client of `shelf` over stdio, for what does not depend on the transport."""
    async with apart(shelf.stdio()) as agent:
        yield agent


@pytest.fixture
def project(tmp_path: Path, api: Api) -> Project:
    """A project of one test's own, with the server `shelf`."""
    return Project(tmp_path, LIMITS + SHELF.format(url=api.url))


@pytest.fixture(scope="session")
def tls_files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a certificate for 127.0.0.1, its key, another key, and the key encrypted."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    pem, private = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    folder = tmp_path_factory.mktemp("tls")
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "doorward test")])
    now = datetime.now(UTC)
    built = x509.CertificateBuilder(
        name, name, key.public_key(), x509.random_serial_number(), now, now + timedelta(days=1)
    )
    named = x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))])
    certificate = built.add_extension(named, critical=False).sign(key, hashes.SHA256())
    (folder / "server.pem").write_bytes(certificate.public_bytes(pem))
    none, some = serialization.NoEncryption(), serialization.BestAvailableEncryption(b"secret")
    (folder / "server.key").write_bytes(key.private_bytes(pem, private, none))
    (folder / "locked.key").write_bytes(key.private_bytes(pem, private, some))
    (folder / "other.key").write_bytes(ec.generate_private_key(ec.SECP256R1()).private_bytes(pem, private, none))
    return folder
