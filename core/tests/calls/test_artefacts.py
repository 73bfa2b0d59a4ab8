"""Files that programs leave and take: kept on the host, bounded, shown as images, saved by the command line."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import anyio
import pytest
import structlog
from doorward import Compiled, Failure, Program, ProgramResult
from doorward.calls import answer_checks
from doorward.calls.artefacts import Artefacts, base_name
from doorward.engines import PutBlob
from doorward.model.errors import DoorwardError, StateError, UnknownName

from ..conftest import CONFIG, InProcess, MemoryCache, Weather

pytestmark = pytest.mark.anyio

PNG = b"\x89PNG\r\n\x1a\n" + b"\x00" * 20
WEBP = b"RIFF\x00\x00\x00\x00WEBPVP8 "


class Leaving:
    """A sandbox whose program is an expression that uses the door, as executors do for files in ./out."""

    async def run(self, program: Program, door: Any) -> ProgramResult:
        try:
            opened = {f"{name}_opened": await door.open(uri) for name, uri in program.params.items() if name == "uri"}
            names = {"door": door, "PNG": PNG, "WEBP": WEBP, **program.params, **opened}
            return ProgramResult(eval(program.code, names))
        except DoorwardError as error:
            return ProgramResult(error=Failure(error.kind, type(error).__name__, error.message, hint=error.hint))

    async def close(self) -> None:
        pass


class Files(InProcess):
    async def open(self, program: Program, *, session: bool = False) -> Any:
        return Leaving()


@pytest.fixture
def files(doorward_host: Any) -> Any:
    doorward_host.install("executor", "files", Files)
    return doorward_host


FILES = CONFIG.replace('"inprocess"', '"files"')


@pytest.mark.parametrize(
    ("name", "clean"),
    [
        ("plot.png", "plot.png"),
        ("../../etc/passwd", "passwd"),
        ("C:\\temp\\a.csv", "a.csv"),
        ("a\nb\x1b[31m\u202e.txt", "ab.txt"),
        ("..", ""),
        ("out/", ""),
        ("x" * 300 + ".csv", "x" * 196 + ".csv"),
    ],
)
def test_names_are_harmless(name: str, clean: str) -> None:
    """No folders, no control characters, not too long."""
    assert base_name(name) == clean


async def test_files_that_a_program_leaves(files: Any) -> None:
    """They stand in the outcome with type and name, and are their principal's. CONTRACT: OUT-04."""
    async with files.gateway(FILES) as gate:
        outcome = await gate.execute("door.keep(b'1,2', 'text/csv', '../report.csv').uri", principal="ann")
        (kept,) = outcome.artefacts
        assert (kept.uri, kept.type, kept.bytes, kept.name) == (outcome.value, "text/csv", 3, "report.csv")
        assert (await gate.file(kept.uri, principal="ann")).name == "report.csv"
        read = await gate.execute("[uri, uri_opened.content.decode()][1]", params={"uri": kept.uri}, principal="ann")
        assert read.value == "1,2"
        stolen = await gate.execute("[uri, uri_opened]", params={"uri": kept.uri}, principal="mallory")
        assert stolen.error is not None
        assert stolen.error.type == "InvalidArguments"
        odd = await gate.execute("door.keep(b'', 'text/html\\nX: y').type")
        assert odd.value == "application/octet-stream"
        assert odd.artefacts[0].name == ""
        failed = await gate.execute(
            "[door.keep(b'', 'text/csv', 'opened.csv'), door.keep(b'1', 'text/csv', 'written.csv')] and 1 / 0"
        )
        assert [file.name for file in failed.artefacts] == ["written.csv"]  # the other one it had only opened


async def test_files_are_bounded_in_number_and_bytes(files: Any) -> None:
    """What a run leaves cannot fill the host; what the host itself keeps of the run is not counted."""
    async with files.gateway(FILES + '[limits]\nresult = "1KiB"\ninline = 50\n') as gate:
        many = await gate.execute("[door.keep(b'1', 'a/b') for _ in range(101)]")
        assert "more than 100 files" in many.error.message
        assert len(many.artefacts) == 100
        assert (await gate.execute("[door.keep(b'', 'a/b') for _ in range(100)] and 'x' * 1000")).truncated
        large = await gate.execute("[door.keep(b'x' * 600, 'a/b') for _ in range(2)]")
        assert "more than 1024 bytes" in large.error.message


async def test_a_handle_as_a_parameter_is_its_uri(files: Any) -> None:
    """Checked to be the principal's, before the program begins; for text and undeclared parameters, also of kept
    programs.
    CONTRACT: EXE-01."""
    async with files.gateway(FILES) as gate:
        uri = (await gate.execute("door.keep(b'1', 'text/csv', 'a.csv').uri")).value
        handle = {"artefact": uri, "type": "text/csv", "bytes": 1, "name": "a.csv"}
        assert (await gate.execute("data", params={"data": handle})).value == uri
        files.install("cache", "memory", MemoryCache)
        async with files.gateway(CONFIG.replace('"none"', '"memory"')) as plain:
            own = await plain.execute("data = ''\nresult = data", params={"data": uri})
            assert own.value == uri
            missing = await plain.execute("data = ''", params={"data": handle})
            assert "parameter 'data': there is no result" in missing.error.message
            raw = (await plain.execute("await weather.raw()")).value
            number = await plain.execute("data = 3", params={"data": raw})
            assert "of type integer, got string" in number.error.message
            again = await plain.run_cached(own.cache_id, {"data": raw})
            assert again.value == raw["artefact"]
            assert "no result" in (await plain.run_cached(own.cache_id, {"data": handle})).error.message
        other = await gate.execute("data", params={"data": handle}, principal="mallory")
        assert (other.error.type, "'data'" in other.error.message) == ("InvalidArguments", True)
        free = {"artefact": uri, "mine": 1}
        assert (await gate.execute("data", params={"data": free})).value == free


async def test_files_that_cannot_be_stored_are_told(files: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The outcome stays what it is, with a note. A single call has no place for one: it was made, so its answer is
    given, and the handle of the file says why it leads nowhere; the log has it, too."""
    async with files.gateway(FILES + "[limits]\ninline = 50\n") as gate:
        commit = gate.store.commit

        async def full(*changes: Any, **more: Any) -> int:
            if any(isinstance(change, PutBlob) for change in changes):
                raise StateError("the disk is full")
            return await commit(*changes, **more)

        monkeypatch.setattr(gate.store, "commit", full)
        for code in ("door.keep(b'1', 'text/csv', 'a.csv').uri and 7", "'x' * 1000"):
            outcome = await gate.execute(code)
            assert outcome.ok
            assert "cannot be kept: the disk is full" in outcome.notes[-1]
        assert (await gate.answer("weather.raw")).ok
        with structlog.testing.capture_logs() as logs:
            handle = await gate.call("weather.raw")
        assert handle["not_stored"] == "the disk is full"
        assert [(line["event"], line["files"]) for line in logs] == [("files_not_stored", [handle["artefact"]])]
        with pytest.raises(UnknownName):
            await gate.file(handle["artefact"])
        monkeypatch.undo()
        again = await gate.execute("door.keep(b'1', 'text/csv', 'a.csv').uri")
        assert (await gate.file(again.artefacts[0].uri)).content == b"1"


@pytest.mark.parametrize("held", [2**24, 1])
async def test_a_file_is_there_for_the_next_call(
    doorward_host: Any, monkeypatch: pytest.MonkeyPatch, held: int
) -> None:
    """Of the same program, before it is stored; what is much is stored at once. Afterwards it is there for all."""
    monkeypatch.setattr(answer_checks, "_HELD_BYTES", held)
    async with doorward_host.gateway(CONFIG) as gate:
        stored: list[str] = []
        commit = gate.store.commit

        async def noted(*changes: Any, **more: Any) -> int:
            stored.extend(change.name for change in changes if isinstance(change, PutBlob))
            return await commit(*changes, **more)

        monkeypatch.setattr(gate.store, "commit", noted)
        await gate.ready()
        run = gate.execution.of_call("local")
        handle = await run.call("weather.raw", (), {})
        assert len(stored) == (0 if held > 1 else 1)
        content = (await run.open(handle["artefact"])).content
        assert content
        assert not await run.is_foreign(handle["artefact"])
        await run.store_files()
        assert len(stored) == 1
        assert (await gate.file(handle["artefact"])).content == content


async def test_calls_at_once_store_nothing_twice(files: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each file is stored once, however many wait for that."""
    kept: list[str] = []

    async def keep(artefacts: Any, one: Any, principal: str) -> None:
        kept.append(one.about.uri)
        await anyio.lowlevel.checkpoint()
        await keeping(artefacts, one, principal)

    keeping = Artefacts.keep
    monkeypatch.setattr(Artefacts, "keep", keep)
    async with files.gateway(FILES) as gate:
        run = gate.execution.of_call("local")
        for n in range(3):
            run.hold(f"file {n}", "text/plain")
        async with anyio.create_task_group() as calls:
            for _ in range(4):
                calls.start_soon(run.store_files)
    assert len(kept) == len(set(kept)) == 3


@pytest.mark.parametrize("changes", [True, False])
async def test_a_write_that_was_made_is_answered(
    doorward_host: Any, monkeypatch: pytest.MonkeyPatch, changes: bool
) -> None:
    """Though its file is too large to wait in memory, and cannot be stored. A read may fail: it can be made again."""
    monkeypatch.setattr(answer_checks, "_HELD_BYTES", 1)

    async def full(*changes: Any, **more: Any) -> int:
        raise StateError("the disk is full")

    class Source(Weather):
        async def compile(self) -> Compiled:
            found = await super().compile()
            return replace(found, functions=[replace(each, read_only=not changes) for each in found.functions])

    doorward_host.install("source", "all", Source)
    async with doorward_host.gateway(CONFIG.replace('"fake"', '"all"')) as gate:
        await gate.ready()
        monkeypatch.setattr(gate.store, "commit", full)
        outcome = await gate.execute("x = await weather.raw()\nx['type']")
    assert outcome.ok == changes
    assert [call["ok"] for call in outcome.calls] == [changes]


@pytest.mark.parametrize("held", [2**24, 1])
async def test_of_a_run_that_is_withheld_no_file_is_kept(
    doorward_host: Any, monkeypatch: pytest.MonkeyPatch, held: int
) -> None:
    """Neither what its calls answered nor what it left, whether it was stored while the run went on or not; what others
    have stays."""
    monkeypatch.setattr(answer_checks, "_HELD_BYTES", held)
    monkeypatch.setenv("TOKEN", "canary-" + "4711-s3cr3t")
    async with doorward_host.gateway(CONFIG + 'token = "${TOKEN}"\n') as gate:
        other = await gate.execute("await weather.raw()")
        before = await gate.store.names("blobs")
        await gate.execute("await weather.echo_token()")
        outcome = await gate.execute("x = await weather.raw()\n'-'.join(['canary', '4711', 's3cr3t'])")
        assert outcome.error.type == "SecretWithheld"
        await gate.execute(
            "await weather.raw()\ntry: await weather.get_forecast(city='-'.join(['canary', '4711', 's3cr3t']))\n"
            "except Exception: pass"
        )
        assert await gate.store.names("blobs") == before
        assert (await gate.file(other.artefacts[0].uri)).content
        assert [record.key for record in await gate.store.scan("artefacts")]


async def test_what_has_expired_is_removed_although_nothing_is_written(
    files: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last results of an evening are not kept until somebody comes in the morning."""
    now = [1000.0]
    async with files.gateway(FILES + "[limits]\nkept_seconds = 60\n") as gate:
        monkeypatch.setattr(gate.store, "_clock", lambda: now[0])
        monkeypatch.setattr("doorward.gateway.FORGET_SECONDS", 0.0)
        await gate.execute("door.keep(b'1', 'text/csv', 'a.csv').uri")
        await gate._sweep()
        assert len(gate.store._blobs) == 1
        now[0] += 61
        await gate._sweep()
        assert not gate.store._blobs


async def test_an_id_has_no_place_of_another_principal(files: Any) -> None:
    """What stands behind a principal in a key of the store is one word."""
    async with files.gateway(FILES) as gate:
        left = (await gate.execute("door.keep(PNG, 'image/png', 'a.png') and 1", principal="a/b")).artefacts[0]
        assert (await gate.file(left.uri, principal="a/b")).content == PNG
        for uri in (
            left.uri.replace("results/", "results/b/"),
            "doorward://results/" + "x" * 200,
            "doorward://results/",
        ):
            with pytest.raises(UnknownName, match="there is no result"):
                await gate.file(uri, principal="a")
