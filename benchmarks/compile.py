"""Compiling documents to searchable functions, compared with only parsing them, and with FastMCP's `from_openapi`.

Each measurement runs in a process of its own, after its imports: `compile.py SIDE FILE FOLDER` (FILE
uncompressed) prints the result.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

DOCUMENTS = {
    "GitHub": "github.json.zst",
    "Stripe": "stripe-2023-09-12.yaml.zst",
    "Kubernetes": "kubernetes-swagger.json.zst",
    "OpenAI": "openai.yaml.zst",
    "Plaid": "plaid.yml.zst",
    "Twilio": "twilio_api_v2010.json.zst",
    "Jira": "jira-guru.json.zst",
    "DigitalOcean, many files": "digitalocean-multifile.tar.zst",
}


async def run(folder: Path, rounds: int = 7) -> None:
    from common import median, table

    print("## Compile, CPU seconds (times of only parsing; MB more than after the imports)")
    specs = Path(os.environ.get("DOORWARD_SPECS", "-"))
    found = {
        name: _unpacked(specs / file, folder / name) for name, file in DOCUMENTS.items() if (specs / file).is_file()
    }
    if not found:
        print("\nLeft out: set DOORWARD_SPECS to a folder with the documents.\n")
        return
    peer, version = _peer()
    rows: list[list[Any]] = []
    for name, file in found.items():
        took: dict[str, list[Mapping[str, Any]]] = {"parse": [], "doorward": []}
        for number in range(rounds):
            for side, measured in took.items():
                measured.append(
                    _measured([sys.executable, __file__, side, str(file), str(folder / f"{name}-{number}")])
                )
        floor = median([m["seconds"] for m in took["parse"]])
        floor_mb = median([m["mb"] for m in took["parse"]])

        def cell(key: str, took: Any = took, floor: float = floor) -> str:
            seconds = median([m[key] for m in took["doorward"]])
            return f"{seconds:.3f} ({seconds / floor:.1f} ×)"

        mb = median([m["mb"] for m in took["doorward"]])
        count = took["doorward"][0]["functions"]
        memory = [f"{floor_mb:.0f}", f"{mb:.0f} ({mb / floor_mb:.1f} ×)"]
        rows.append(
            [
                name,
                count,
                f"{floor:.3f}",
                cell("compiled"),
                cell("stored"),
                cell("searched"),
                *memory,
                _theirs(peer, file),
            ]
        )
    columns = [
        "document",
        "functions",
        "only parsed",
        "compiled",
        "and stored",
        "and searched",
        "parsed, MB",
        "Doorward, MB",
        f"FastMCP {version}",
    ]
    table(columns, rows)


def _peer() -> tuple[str, str]:
    import peer

    try:
        python, version = peer._install()
        return str(python), version
    except (subprocess.SubprocessError, OSError):
        return "", "(could not be installed)"


def _theirs(python: str, file: Path) -> str:
    """Time and memory that FastMCP takes to make functions from the parsed document."""
    if not python or file.is_dir():
        return "–"
    try:
        told = _measured([python, __file__, "fastmcp", str(file), "-"])
    except (subprocess.SubprocessError, ValueError) as error:
        return f"fails ({type(error).__name__})"
    return f"{told['seconds']:.1f} s, {told['mb']:.0f} MB" if "seconds" in told else f"fails: {told['error']}"


def _measured(command: list[str]) -> Any:
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=300)
    return json.loads(done.stdout.splitlines()[-1])


def _unpacked(file: Path, target: Path) -> Path:
    """The document without compression; for an archive, its folder."""
    import tarfile

    from doorward_http import zstd_module as zstd

    raw = zstd().decompress(file.read_bytes())
    if ".tar" not in file.name:
        target.with_suffix(Path(file.stem).suffix).write_bytes(raw)
        return target.with_suffix(Path(file.stem).suffix)
    target.with_suffix(".tar").write_bytes(raw)
    with tarfile.open(target.with_suffix(".tar")) as archive:
        archive.extractall(target, filter="data")
    return next(f.parent for f in target.rglob("*.y*ml") if f.read_bytes().startswith(b"openapi:"))


# One measurement, in a process of its own


def _parse(path: Path, folder: Path) -> dict[str, Any]:
    import gc

    import msgspec
    import yaml_rs

    def work() -> dict[str, Any]:
        gc.disable()
        started = time.process_time()
        for file in path.rglob("*.y*ml") if path.is_dir() else [path]:
            raw = file.read_bytes()
            kept.append(
                msgspec.json.decode(raw)
                if raw.lstrip()[:1] == b"{"
                else yaml_rs.loads(raw.decode(), parse_datetime=False)
            )
        return {"seconds": time.process_time() - started}

    kept: list[Any] = []
    return _with_memory(work)


def _doorward(path: Path, folder: Path) -> dict[str, Any]:
    import anyio
    import anyio._backends._asyncio
    import msgspec  # noqa: F401
    import yaml_rs  # noqa: F401
    from doorward import ServerContext
    from doorward_openapi import OpenAPI
    from doorward_openapi.fetching import downloads, fetch  # noqa: F401
    from doorward_openapi.operations import compiler  # noqa: F401
    from doorward_search import ranking, result_words, steps  # noqa: F401
    from doorward_search.testing import SearchedCatalog
    from doorward_store_sqlite.catalog import SqliteCatalog

    source = OpenAPI(ServerContext("api", OpenAPI.Settings(spec=str(path)), folder, folder))
    catalog = SearchedCatalog(SqliteCatalog(folder / "catalog.db"))

    async def work() -> dict[str, Any]:
        started = time.process_time()
        made = await source.compile()
        compiled = time.process_time() - started
        catalog.store("api", made, fingerprint="", settings="", ms=0)
        stored = time.process_time() - started
        assert catalog.search("list all users", servers=["api"])[0]
        searched = time.process_time() - started
        return {"compiled": compiled, "stored": stored, "searched": searched, "functions": len(made.functions)}

    return _with_memory(lambda: anyio.run(work))


def _fastmcp(path: Path, folder: Path) -> dict[str, Any]:
    import httpx2
    import yaml
    from fastmcp import FastMCP

    raw = path.read_bytes()
    document = json.loads(raw) if raw.lstrip()[:1] == b"{" else yaml.load(raw, yaml.CSafeLoader)
    client = httpx2.AsyncClient(base_url="http://127.0.0.1:9")

    def work() -> dict[str, Any]:
        started = time.process_time()
        FastMCP.from_openapi(document, client, name="peer")
        return {"seconds": time.process_time() - started}

    try:
        return _with_memory(work)
    except Exception as error:  # any error is a result
        return {"error": f"{type(error).__name__}: {' '.join(str(error).split())[:60]}"}


def _with_memory(work: Any) -> dict[str, Any]:
    before = _peak()
    told = work()
    return {**told, "mb": _peak() - before}


def _peak() -> float:
    """MB. On Linux, `ru_maxrss` is that of the process that started this one, if that was larger."""
    status = Path("/proc/self/status")
    if status.exists():
        return (
            next(int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith("VmHWM")) / 2**10
        )
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)


if __name__ == "__main__":
    side, file, folder = sys.argv[1:]
    sides = {"parse": _parse, "doorward": _doorward, "fastmcp": _fastmcp}
    print(json.dumps(sides[side](Path(file), Path(folder))))
