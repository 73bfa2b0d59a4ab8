"""What a release gives to agents beside the distributions: `server.json` for the MCP registry, a bundle for desktop
clients (MCPB), and a plugin folder of Claude Code. Each starts exactly this version with `uv`; none has code of ours.
"""

from __future__ import annotations

import argparse
import json
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from distributions import ROOT, Distribution

NAME = "io.github.doorward/doorward"
"""The name in the MCP registry. Its owner is who publishes; the README of the distribution names it, too."""

STARTED = "doorward[standard]"
SCHEMA = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
BUNDLE = "doorward.mcpb"
PLUGIN = "claude-plugin"
MAX_DESCRIPTION_CHARACTERS = 100
"""The most that the registry takes."""

_MAIN = '''"""Serves Doorward over stdio."""

from doorward_cli.command_line import main

main(["serve"])
'''


def server_json(version: str) -> dict[str, Any]:
    """How the MCP registry describes Doorward."""
    package = {
        "registryType": "pypi",
        "identifier": "doorward",
        "version": version,
        "runtimeHint": "uvx",
        "runtimeArguments": [{"type": "named", "name": "--with", "value": f"{STARTED}=={version}"}],
        "packageArguments": [{"type": "positional", "value": "serve"}],
        "transport": {"type": "stdio"},
    }
    about = "APIs and MCP servers as Python functions that agents call from a sandbox, through one door."
    return {"$schema": SCHEMA, "name": NAME, "title": "Doorward", "description": about, "version": version,
            "packages": [package]}  # fmt: skip


def bundle(version: str) -> dict[str, str]:
    """The files of an MCPB bundle, which has uv install and start Doorward."""
    about = project()
    arguments = ["run", "--directory", "${__dirname}", "server/main.py"]
    manifest = {
        "manifest_version": "0.4",
        "name": "doorward",
        "display_name": "Doorward",
        "version": version,
        "description": about["description"],
        "author": {"name": "The Doorward authors"},
        "license": about["license"],
        "server": {
            "type": "uv",
            "entry_point": "server/main.py",
            "mcp_config": {
                "command": "uv", "args": arguments, "env": {"DOORWARD_CONFIG": "${user_config.configuration}"},
            },
        },
        "user_config": {
            "configuration": {
                "type": "file", "title": "Configuration", "required": True,
                "description": "Your doorward.toml; `doorward setup` writes one",
            },
        },
    }  # fmt: skip
    needs = json.dumps([f"{STARTED}=={version}"])
    pyproject = (
        f'[project]\nname = "doorward-bundle"\nversion = "{version}"\nrequires-python = "{about["requires-python"]}"\n'
        f"dependencies = {needs}\n"
    )
    return {
        "manifest.json": json.dumps(manifest, indent=2),
        "pyproject.toml": pyproject,
        "server/main.py": _MAIN,
        "LICENSE": (ROOT / "LICENSE").read_text(encoding="utf-8"),
    }


def plugin(version: str) -> dict[str, str]:
    """The files of a plugin of Claude Code, which serves the doorward.toml of the project."""
    about = {
        "name": "doorward",
        "version": version,
        "description": project()["description"],
        "author": {"name": "The Doorward authors"},
        "license": project()["license"],
    }
    entry = {"command": "uvx", "args": ["--from", f"{STARTED}=={version}", "doorward", "serve"]}
    return {
        ".claude-plugin/plugin.json": json.dumps(about, indent=2),
        ".mcp.json": json.dumps({"mcpServers": {"doorward": entry}}, indent=2),
    }


def project() -> Any:
    return Distribution(ROOT / "core").project


def write(out: Path) -> None:
    """Write all of it, of the version that the distributions have. The bundle is the same bytes each time."""
    version = project()["version"]
    out.mkdir(parents=True, exist_ok=True)
    (out / "server.json").write_text(json.dumps(server_json(version), indent=2) + "\n")
    with zipfile.ZipFile(out / BUNDLE, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in bundle(version).items():
            archive.writestr(zipfile.ZipInfo(name, (2020, 2, 2, 0, 0, 0)), text)
    for name, text in plugin(version).items():
        file = out / PLUGIN / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text + "\n")


def problems(out: Path) -> Iterator[str]:
    """What is wrong with what was written, as far as that is known without those who take it."""
    version = project()["version"]
    said = json.loads((out / "server.json").read_text())
    if len(said["description"]) > MAX_DESCRIPTION_CHARACTERS:
        yield f"server.json: the description has more than {MAX_DESCRIPTION_CHARACTERS} characters"
    if not re.fullmatch(r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+", said["name"]):
        yield "server.json: its name is none of the registry"
    if f"mcp-name: {said['name']}" not in (ROOT / "core" / "README.md").read_text(encoding="utf-8"):
        yield f"core/README.md does not say mcp-name: {said['name']}, by which the registry knows who owns it"
    with zipfile.ZipFile(out / BUNDLE) as archive:
        manifest, names = json.loads(archive.read("manifest.json")), {*archive.namelist()}
        compile(archive.read("server/main.py"), "server/main.py", "exec")
    if manifest["server"]["entry_point"] not in names:
        yield f"{BUNDLE}: its entry point is not in it"
    about = json.loads((out / PLUGIN / ".claude-plugin" / "plugin.json").read_text())
    versions = {said["version"], said["packages"][0]["version"], manifest["version"], about["version"]}
    if versions != {version}:
        yield f"versions differ: {', '.join(sorted({version, *versions}))}"


def main() -> None:
    parser = argparse.ArgumentParser(description="Write what a release gives to agents, and check it.")
    parser.add_argument("out", type=Path, nargs="?", default=ROOT / "dist-agents")
    out = parser.parse_args().out
    write(out)
    if found := [*problems(out)]:
        raise SystemExit("\n".join(found))
    print(f"server.json, {BUNDLE} and {PLUGIN} in {out}")


if __name__ == "__main__":
    main()
