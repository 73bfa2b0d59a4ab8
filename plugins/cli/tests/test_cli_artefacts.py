"""Artefacts of `doorward run`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from doorward.calls.artefacts import PREFIX
from doorward.engines import MemoryStore


@pytest.mark.anyio
async def test_the_command_line_saves_files(tmp_path: Path) -> None:
    """`--artefacts` saves under harmless names, replaces nothing and follows no link."""
    from doorward.calls.artefacts import Artefacts
    from doorward_cli.run import saved

    class Gate:
        store = Artefacts(MemoryStore(), most=1000, seconds=60)

        async def file(self, uri: str) -> Any:
            return await self.store.open(uri, "local")

    gate: Any = Gate()
    kept = [await gate.store.keep(gate.store.made(content, type, name), "local") for content, type, name in [
        (b"one", "text/csv", "a.csv"), (b"two", "text/csv", "a.csv"), (b"three", "text/plain", ".bashrc"), (b"four", "image/png", ""),
    ]]  # fmt: skip
    folder = tmp_path / "saved"
    folder.mkdir()
    (folder / "bashrc").symlink_to(tmp_path / "elsewhere")
    notes = await saved(gate, kept, folder)
    assert notes[0] == f"{kept[0].uri} is {folder / 'a.csv'}"
    found = {p.name: p.read_bytes() for p in folder.iterdir() if not p.is_symlink()}
    assert found == {"a.csv": b"one", "a-2.csv": b"two", "bashrc-3": b"three", "artefact.png": b"four"}
    assert not (tmp_path / "elsewhere").exists()
    assert await saved(gate, kept, None) == ["4 artefacts are not saved; --artefacts FOLDER saves them"]
    assert await saved(gate, [], None) == []
    assert "cannot be saved" in (await saved(gate, kept, folder / "a.csv"))[0]
    gone = [kept[0].__class__(PREFIX + "nope", "text/csv", 1)]
    assert "cannot be saved" in (await saved(gate, gone, folder))[0]
