"""Applications that ship a document, each started here and driven by it: what is created, changed and removed through
Doorward is there, changed and gone when the application is asked without it."""

from __future__ import annotations

import base64
import io
import json
import struct
import zipfile
import zlib
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from doorward import Gateway
from doorward_testing import reserve_port

from .peer import CACHE, answers, document, gateway, program, run, running, whole
from .systems import KEY, Application, powerdns

pytestmark = [pytest.mark.anyio]


@pytest.fixture
def opened(tmp_path: Path, anyio_backend: str) -> Callable[..., AbstractAsyncContextManager[Gateway]]:
    """A gateway whose server `api` is described by one of the shared documents, or by a URL."""

    @asynccontextmanager
    async def open(spec: str, base_url: str | None, **settings: Any) -> AsyncIterator[Gateway]:
        base = {"base_url": base_url} if base_url else {}
        spec = spec if spec.startswith("http:") else str(document(spec))
        async with gateway(tmp_path, spec=spec, timeout=30, **base, **settings) as gate:
            yield gate

    return open


# httpbin


@pytest.fixture(scope="module")
def httpbin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Application]:
    gunicorn = program("gunicorn", CACHE / "httpbin/bin")
    app = Application(reserve_port())
    command = [gunicorn, "--bind", f"127.0.0.1:{app.port}", "--threads", "4", "httpbin:app"]
    with running(command, tmp_path_factory.mktemp("httpbin"), answers(f"{app.url}/get")):
        yield app


async def test_httpbin_by_the_document_that_it_serves(opened: Any, httpbin: Application) -> None:
    """Its document is downloaded from it; every kind of answer arrives as what it is."""
    async with opened(f"{httpbin.url}/spec.json", httpbin.url, headers={"X-Trace": "a b"}) as gate:
        code = """
import api
from doorward import ApiError
def status(code):
    try:
        return api.get_status_codes(codes=str(code))
    except ApiError as error:
        return error.status
result = {
    "headers": api.get_headers()["headers"]["X-Trace"],
    "gzip": api.get_gzip()["gzipped"],
    "deflate": api.get_deflate()["deflated"],
    "utf8": "∮ E⋅da" in api.get_encoding_utf8(),
    "path": api.get_anything_anything(anything="a/b?c#d é")["url"],
    "xml": api.get_xml()[:5],
    "statuses": [status(c) for c in (200, 404, 418)],
    "redirected": api.get_relative_redirect_n(n=2)["url"],
    "cookies": api.get_cookies(),
    "image": api.get_image_png(),
    "bytes": api.get_bytes_n(n=1000)["bytes"],
}
"""
        told = await run(gate, code)
        image = told.pop("image")
        assert await whole(gate, image) == httpbin.ask("GET", "/image/png")[1]
        assert image["type"] == "image/png"
        assert told == {
            "headers": "a b",
            "gzip": True,
            "deflate": True,
            "utf8": True,
            "path": f"{httpbin.url}/anything/a/b%3Fc%23d%20é",
            "xml": "<?xml",
            "statuses": [None, 404, 418],
            "redirected": f"{httpbin.url}/get",
            "cookies": {"cookies": {}},
            "bytes": 1000,
        }


async def test_httpbin_form_and_stream(opened: Any, httpbin: Application) -> None:
    """A form is sent as one, a redirect that it asks for stays within the origin, and lines of JSON are a list."""
    async with opened(f"{httpbin.url}/spec.json", httpbin.url) as gate:
        code = """
import api
result = [api.get_redirect_to(url="/get?a=1")["args"], [line["id"] for line in api.get_stream_n(n=3)]]
"""
        assert await run(gate, code) == [{"a": "1"}, [0, 1, 2]]


# etcd


@pytest.fixture(scope="module")
def etcd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Application]:
    folder = tmp_path_factory.mktemp("etcd")
    app, peers = Application(reserve_port()), f"http://127.0.0.1:{reserve_port()}"
    command = [
        program("etcd"),
        "--data-dir",
        str(folder / "data"),
        "--listen-client-urls",
        app.url,
        "--advertise-client-urls",
        app.url,
    ]
    command += [
        "--listen-peer-urls",
        peers,
        "--initial-advertise-peer-urls",
        peers,
        "--initial-cluster",
        f"default={peers}",
    ]
    with running(command, folder, answers(f"{app.url}/health")):
        yield app


async def test_etcd_keys_leases_and_users(opened: Any, etcd: Application) -> None:
    """Put, read a range, compare and swap in a transaction, expire by a lease, delete; users are made and removed."""
    code = """
import api, base64
def text(data): return base64.b64decode(data).decode()
def data(text): return base64.b64encode(text.encode()).decode()
api.kv_put(key=data("a/1"), value=data("é\\x00"))
lease = api.lease_lease_grant(TTL="3600")["ID"]
api.kv_put(key=data("a/2"), value=data("two"), lease=lease)
found = api.kv_range(key=data("a/"), range_end=data("a0"), sort_order="DESCEND", sort_target="KEY")
compare = [{"key": data("a/1"), "target": "VALUE", "result": "EQUAL", "value": data("é\\x00")}]
swapped = api.kv_txn(compare=compare, success=[{"requestPut": {"key": data("a/1"), "value": data("new")}}])
api.auth_user_add(name="ada", password="secret&=")
result = [[text(kv["key"]) for kv in found["kvs"]], found["count"], swapped["succeeded"], api.auth_user_list(body={})["users"], lease]
"""
    async with opened("etcd-rpc-swagger.json", etcd.url) as gate:
        keys, count, swapped, users, lease = await run(gate, code)
        assert (keys, count, swapped, users) == (["a/2", "a/1"], "2", True, ["ada"])
        everything = {"key": "YQ==", "range_end": "Yg=="}
        there = {
            base64.b64decode(kv["key"]): base64.b64decode(kv["value"])
            for kv in etcd.json("/v3/kv/range", everything)["kvs"]
        }
        assert there == {b"a/1": b"new", b"a/2": b"two"}

        await gate.call("api.lease_lease_revoke", {"ID": lease})
        assert [kv["key"] for kv in etcd.json("/v3/kv/range", everything)["kvs"]] == [base64.b64encode(b"a/1").decode()]
        gone = "import api\nresult = [api.kv_delete_range(key='YS8x')['deleted'], api.auth_user_delete(name='ada')['header'] is not None]"
        assert await run(gate, gone) == ["1", True]
        assert "kvs" not in etcd.json("/v3/kv/range", everything)
        assert "users" not in etcd.json("/v3/auth/user/list", {})


# Alertmanager


@pytest.fixture(scope="module")
def alertmanager(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Application]:
    folder = tmp_path_factory.mktemp("alertmanager")
    (folder / "config.yml").write_text("route: {receiver: nobody}\nreceivers: [{name: nobody}]\n")
    app = Application(reserve_port())
    command = [
        program("prometheus-alertmanager", Path("/usr/bin")),
        f"--config.file={folder}/config.yml",
        f"--storage.path={folder}/data",
    ]
    command += [f"--web.listen-address=127.0.0.1:{app.port}", "--cluster.listen-address="]
    with running(command, folder, answers(f"{app.url}/-/ready")):
        yield app


async def test_alertmanager_alerts_and_silences(opened: Any, alertmanager: Application) -> None:
    """Alerts are posted as a list and found by repeated filters; a silence is made, seen, and expired."""
    code = """
import api
api.post_alerts(body=[{"labels": {"alertname": name, "team": "a b&c"}, "startsAt": "2024-02-29T12:30:00Z"} for name in ("Down", "Slow")])
found = api.get_alerts(filter=['team="a b&c"', 'alertname=~"Do.*"'])
none = api.get_alerts(active=False, filter=['team="a b&c"'])
matchers = [{"name": "alertname", "value": "Down", "isRegex": False}]
times = {"startsAt": "2024-02-29T12:30:00Z", "endsAt": "2099-01-01T00:00:00Z"}
made = api.post_silences(matchers=matchers, createdBy="ada", comment="it is ok", **times)["silenceID"]
result = [[a["labels"]["alertname"] for a in found], none, made, api.get_silence(silenceID=made)["status"]["state"]]
"""
    async with opened("alertmanager-swagger.yaml", f"{alertmanager.url}/api/v2") as gate:
        names, none, made, state = await run(gate, code)
        assert (names, none, state) == (["Down"], [], "active")
        assert sorted(a["labels"]["alertname"] for a in alertmanager.json("/api/v2/alerts")) == ["Down", "Slow"]
        assert [s["comment"] for s in alertmanager.json("/api/v2/silences") if s["id"] == made] == ["it is ok"]
        assert await gate.call("api.delete_silence", {"silenceID": made}) is None
        assert alertmanager.json(f"/api/v2/silence/{made}")["status"]["state"] == "expired"


# PowerDNS


@pytest.fixture(scope="module")
def pdns(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Application]:
    with powerdns(tmp_path_factory.mktemp("pdns")) as app:
        yield app


async def test_powerdns_zones(opened: Any, pdns: Application, monkeypatch: pytest.MonkeyPatch) -> None:
    """A zone is made, records replaced, exported as text and removed, with the key as a credential that the program
    never has."""
    monkeypatch.setenv("PDNS_KEY", KEY["X-API-Key"])
    auth = {"type": "api_key", "value": "${PDNS_KEY}", "name": "X-API-Key"}
    code = """
import api
from doorward import ApiError
zone = {"server_id": "localhost", "zone_id": "example.org."}
api.create_zone(server_id="localhost", name="example.org.", kind="Native", nameservers=["ns1.example.org."])
def record(kind, name, content):
    records = [{"content": content, "disabled": False}]
    return {"name": name, "type": kind, "ttl": 60, "changetype": "REPLACE", "records": records}
changed = api.patch_zone(**zone, rrsets=[record("A", "www.example.org.", "192.0.2.1"), record("TXT", "t.example.org.", '"a b; é"')])
api.create_metadata(**zone, kind="ALLOW-AXFR-FROM", metadata=["192.0.2.0/24"])
try:
    api.patch_zone(**zone, rrsets=[record("A", "www.example.org.", "no address")])
except ApiError as error:
    refused = [error.status, "no address" in str(error)]
result = [changed, refused, "192.0.2.1" in api.axfr_export_zone(**zone)["zone"], [z["name"] for z in api.list_zones(server_id="localhost")]]
"""
    async with opened("powerdns-auth.yaml", f"{pdns.url}/api/v1", auth=auth) as gate:
        assert await run(gate, code) == [None, [422, True], True, ["example.org."]]
        there = pdns.json("/api/v1/servers/localhost/zones/example.org.", **KEY)
        assert {r["records"][0]["content"] for r in there["rrsets"] if r["type"] == "A"} == {"192.0.2.1"}
        kinds = pdns.json("/api/v1/servers/localhost/zones/example.org./metadata", **KEY)
        assert [m["metadata"] for m in kinds if m["kind"] == "ALLOW-AXFR-FROM"] == [["192.0.2.0/24"]]
        assert await gate.call("api.delete_zone", {"server_id": "localhost", "zone_id": "example.org."}) is None
        assert pdns.json("/api/v1/servers/localhost/zones", **KEY) == []


# Orthanc


@pytest.fixture(scope="module")
def orthanc(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Application]:
    folder = tmp_path_factory.mktemp("orthanc")
    app = Application(reserve_port())
    settings = {"HttpPort": app.port, "DicomServerEnabled": False, "Plugins": [], "AuthenticationEnabled": False}
    settings |= {"StorageDirectory": str(folder / "data"), "IndexDirectory": str(folder / "data")}
    (folder / "orthanc.json").write_text(json.dumps(settings))
    with running([program("Orthanc"), str(folder / "orthanc.json")], folder, answers(f"{app.url}/system")):
        yield app


def png(size: int) -> bytes:
    """A grey image."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    header = struct.pack(">IIBBBBB", size, size, 8, 0, 0, 0, 0)
    rows = zlib.compress(b"".join(b"\x00" + bytes(range(size)) for _ in range(size)))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


async def test_orthanc_images_and_attachments(opened: Any, orthanc: Application) -> None:
    """A DICOM file is made, downloaded, removed and uploaded again by its handle; bytes of an attachment come back as
    they were sent, an archive is a zip, metadata is text."""
    image = f"data:image/png;base64,{base64.b64encode(png(64)).decode()}"
    async with opened("live-orthanc-1.10.1.json.zst", orthanc.url) as gate:
        code = """
import api
made = api.post_tools_create_dicom(Tags={"PatientName": "Ada^É", "PatientID": "p 1"}, Content=image)["ID"]
file = api.get_instances_id_file(id=made)
before = api.post_tools_find(Level="Instance", Query={})
api.delete_instances_id(id=made)
between = api.post_tools_find(Level="Instance", Query={})
again = api.post_instances(body=file)["ID"]
found = api.post_tools_find(Level="Patient", Query={"PatientID": "p 1"}, Expand=True)
result = [made == again, before == [made], between, found[0]["MainDicomTags"]["PatientID"], file, made]
"""
        same, before, between, patient, file, made = await run(gate, f"image = ''\n{code}", image=image)
        assert (same, before, between, patient) == (True, True, [], "p 1")
        assert orthanc.json("/instances") == [made]
        assert await whole(gate, file) == orthanc.ask("GET", f"/instances/{made}/file")[1]
        assert (await whole(gate, file))[128:132] == b"DICM"

        sent = bytes(range(256)) * 20
        attachment = {"id": made, "name": "1024"}
        await gate.call(
            "api.put_instances_id_attachments_name", {**attachment, "body": {"base64": base64.b64encode(sent).decode()}}
        )
        assert orthanc.ask("GET", f"/instances/{made}/attachments/1024/data")[1] == sent
        handle = await gate.call("api.get_instances_id_attachments_name_data", attachment)
        assert await whole(gate, handle) == sent
        metadata = {"id": made, "name": "1025"}
        await gate.call("api.put_instances_id_metadata_name", {**metadata, "body": "a\nb é"})
        assert await gate.call("api.get_instances_id_metadata_name", metadata) == "a\nb é"
        assert orthanc.ask("GET", f"/instances/{made}/metadata/1025")[1] == "a\nb é".encode()

        study = orthanc.json("/studies")[0]
        archive = await gate.call("api.get_studies_id_archive", {"id": study})
        assert archive["type"] == "application/zip"
        with zipfile.ZipFile(io.BytesIO(await whole(gate, archive))) as files:
            assert [files.read(name)[128:132] for name in files.namelist()] == [b"DICM"]
        await run(
            gate,
            "import api\nfor study in api.post_tools_find(Level='Study', Query={}):\n    "
            "api.delete_studies_id(id=study)",
        )
        assert orthanc.json("/instances") == []
