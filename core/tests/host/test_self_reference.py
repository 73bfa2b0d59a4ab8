"""Which command lines would start Doorward again."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import pytest
from doorward.administration import starts_doorward
from hypothesis import given
from hypothesis import strategies as st

OURS = [
    "doorward serve",
    "DOORWARD serve",
    "/opt/venv/bin/doorward serve --config x.toml",
    r"'C:\Program Files\doorward.exe' serve",
    "python -m doorward.cli serve",
    "python3.13 -I -m doorward serve",
    "python -Xutf8 -Im doorward.cli serve",
    "python /opt/venv/bin/doorward serve",
    "uvx doorward serve",
    "uvx doorward@latest serve",
    "uvx --from 'doorward[all]==0.1' doorward serve",
    "uvx --python=3.13 --with doorward-openapi -q doorward serve",
    "uvx git+https://git.example.org/x/doorward.git@main serve",
    "uv run doorward serve",
    "uv --directory /x run --with doorward -- doorward serve",
    "uv run --project /x python -m doorward.cli serve",
    "uv run -m doorward.cli serve",
    "python -m uv run doorward serve",
    "uv tool run --from doorward doorward serve",
    "pipx run doorward serve",
    "pipx run --spec git+https://git.example.org/x doorward serve",
    "npx -y doorward",
    "npx --yes --package other @scope/doorward@1.2 serve",
    'npx -p x -c "doorward serve"',
    "npm exec -- doorward",
    "pnpm dlx doorward",
    "bun x doorward",
    'sh -c "cd /x && exec doorward serve"',
    'bash -lc "source .venv/bin/activate; LOG=1 doorward serve 2>/dev/null"',
    "bash -c 'cd /x\ndoorward serve'",
    'bash -c "$(which doorward) serve"',
    "env X=1 doorward serve",
    "env -i -u HOME PATH=/bin doorward serve",
    'env -S "X=1 doorward serve"',
    "X=1 doorward serve",
    "/usr/bin/env uvx doorward serve",
    "sudo -u me doorward serve",
    "nice -n 5 timeout -k 5 30 doorward serve",
    "cmd /c uvx.exe doorward serve",
    "cmd.exe /d /c doorward.exe serve",
    "powershell -NoProfile -Command 'doorward serve'",
    "poetry run doorward serve",
    "conda run -n base doorward serve",
    "docker run -i --rm -v /data:/data registry.example.org/x/doorward:1.2 serve",
    "docker run -i --rm python:3.13 doorward serve",
    "docker exec -i box doorward serve",
    "podman run -i --rm python:3.13 uvx doorward serve",
    """sh -c 'env A=1 sh -c "uvx doorward serve"'""",
]

OTHERS = [
    "",
    "npx -y @modelcontextprotocol/server-filesystem /data/doorward",
    "npx -y @modelcontextprotocol/server-filesystem doorward",
    "mcp-server-git --repository /home/me/src/doorward",
    "uvx mcp-server-git --repository doorward",
    "uvx --with doorward mcp-server-git",
    "uv --directory /src/doorward run server.py",
    "uv run --project doorward other-server",
    "python -m mcp_server_git --repository doorward",
    "python -m doorwards",
    "python /src/doorward/examples/server.py",
    'python -c "print(1)" doorward',
    "node /src/doorward/dist/index.js",
    "docker run -i --rm -v /src/doorward:/doorward mcp/filesystem /doorward",
    "docker run -i --name doorward --workdir /doorward mcp/git",
    "docker exec -i doorward other-server",
    'sh -c "cd /src/doorward && npx server"',
    'bash -c "cat doorward"',
    "env -C /src/doorward npx server doorward",
    "env DOORWARD=doorward server",
    "cmd /c npx -y server doorward",
    "grep doorward file",
    "doorward-proxy serve",
    "uvx --from doorward-proxy proxy serve",
    "serve doorward",
    "npx doorwards",
    "timeout 30 server doorward",
]


@pytest.mark.parametrize("line", OURS)
def test_what_starts_doorward_is_found(line: str) -> None:
    """CONTRACT: SEC-13, MCP-13"""
    assert starts_doorward(shlex.split(line)), line


@pytest.mark.parametrize("line", OTHERS)
def test_a_server_whose_arguments_mention_doorward_is_another(line: str) -> None:
    """CONTRACT: SEC-13"""
    assert not starts_doorward(shlex.split(line)), line


def test_a_link_to_it_is_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = tmp_path / "bin" / "doorward"
    real.parent.mkdir()
    real.write_text("#!/bin/sh\n")
    real.chmod(0o755)
    link = tmp_path / "gate"
    link.symlink_to(real)
    assert starts_doorward([str(link), "serve"])
    assert starts_doorward(["env", str(link), "serve"])
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    assert starts_doorward(["gate", "serve"])


def test_it_answers_at_once_however_long_the_line_is() -> None:
    line = "doorward serve"
    for _ in range(5):
        line = f"sh -c {shlex.quote(line)}"
    assert starts_doorward(shlex.split(line))
    assert not starts_doorward(["env"] * 100_000)
    assert not starts_doorward(["sh", "-c", "sh serve;" * 100_000])
    assert not starts_doorward(["\0", "serve", "x" * 10**6, "é\udcff", "serve"])


@pytest.mark.slow
@given(st.lists(st.sampled_from(["sh", "-c", "x", "'", "$(", "serve", "doorward-x"]) | st.text(max_size=20)))
def test_it_answers_whatever_the_words(words: list[str]) -> None:
    assert starts_doorward(words) in (True, False)
