"""Values that are fetched at run time, by each scheme: they reach the API, and come out nowhere."""

from __future__ import annotations

import secrets
import shlex
from pathlib import Path

import pytest

from .forked import Forked
from .product import BASE, Api, Project
from .test_canary import ECHO, HUGE, disguises, leaks, own_api, received, steal, written

__all__ = ["own_api"]

pytestmark = pytest.mark.anyio

SCHEMES = ("file", "cmd", "keyring", "principal")
BACKEND = """\
from pathlib import Path
from keyring.backend import KeyringBackend

class Folder(KeyringBackend):
    priority = 1
    def get_password(self, service, username):
        file = Path(__file__).with_name(f"{service}-{username}")
        return file.read_text() if file.exists() else None
    def set_password(self, *given): ...
    def delete_password(self, *given): ...
"""
SHOW = 'cat "$1"\necho "told to standard error: $(cat "$1")" >&2\n'


def project(folder: Path, vault: Path, api: Api, canaries: dict[str, str], ttl: int = 300) -> Project:
    """A server for each scheme. The values stand in a folder elsewhere, and are kept for `ttl` seconds."""
    for scheme, canary in canaries.items():
        (vault / f"api-{scheme}").write_text(f"{canary}\n" if scheme != "keyring" else canary)
    (vault / "backend.py").write_text(BACKEND)
    (vault / "show.sh").write_text(SHOW)
    shown = shlex.join(["sh", str(vault / "show.sh"), str(vault / "api-cmd")])
    auths = {
        "file": f'{{ type = "bearer", token = "${{file:{vault}/api-file}}" }}',
        "cmd": f'[{{ type = "basic", username = "user", password = "${{cmd:{shown}}}" }}]',
        "keyring": '[{ type = "api_key", name = "X-Api-Key", value = "${keyring:api/keyring}" }]',
        "principal": '{ type = "bearer", token = "${principal:token}" }',
    }
    servers = "".join(
        f'[servers.{s}]\nsource = "openapi"\nspec = "{api.url}/openapi.json"\nauth = {auths[s]}\n' for s in canaries
    )
    mine = f'[principals.local.secrets]\ntoken = "${{file:{vault}/api-principal}}"\n' if "principal" in canaries else ""
    made = Forked(
        folder, "", {"PYTHON_KEYRING_BACKEND": "backend.Folder", "PYTHONPATH": str(vault), "DOORWARD_DEBUG": "1"}
    )
    head = BASE.replace('"audit_jsonl"', '"audit_jsonl", "keyring", "cmd"')
    made.file.write_text(
        f'{head}log_level = "debug"\n[hooks.cmd]\nttl = {ttl}\n[hooks.keyring]\nttl = {ttl}\n[limits]\nrate = '
        f"100000\n{mine}{servers}"
    )
    return made


def drawn(*schemes: str) -> dict[str, str]:
    return {scheme: f"{secrets.token_urlsafe(9)}/+&=%<~!{secrets.token_hex(6)}" for scheme in schemes}


async def test_no_fetched_value_comes_out(
    own_api: Api, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Not in an answer, on the wire, standard error at level debug, the audit log or the catalog, in any encoding, nor
    out of 10 MB; and a redirect takes it nowhere. CONTRACT: AUT-09, AUT-12, AUT-15."""
    known = drawn(*SCHEMES)
    place = project(tmp_path, tmp_path_factory.mktemp("vault"), own_api, known)
    wire = ["sh", "-c", f"{shlex.join(place.command('serve'))} | tee wire"]
    async with place.stdio(command=wire) as agent:
        await steal(agent, tmp_path, list(SCHEMES))
        answer = await agent.value(HUGE.replace("SERVER", "cmd"))
        assert answer[0] > 2_500_000
        assert "[secret]" in answer[-1]
    places = written(place, agent)
    assert {"wire", "stderr", "state/catalog.db", "state/store.db", "state/doorward.audit.jsonl"} <= set(places)
    assert {scheme: set(received(own_api, canary)) for scheme, canary in known.items()} == {
        scheme: {0} for scheme in known
    }
    assert leaks(known, places) == []


async def test_a_rotated_value_is_used_and_the_old_one_stays_hidden(
    own_api: Api, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Whatever the scheme, without a restart. What cannot be fetched is an error without a value. CONTRACT: AUT-09,
    AUT-12."""
    vault = tmp_path_factory.mktemp("vault")
    first, second = drawn(*SCHEMES), drawn(*SCHEMES)
    place = project(tmp_path, vault, own_api, first, ttl=0)
    async with place.stdio() as agent:
        for canaries in (first, second):
            for scheme, canary in canaries.items():
                (vault / f"api-{scheme}").write_text(canary)
                answer = await agent.run(ECHO.replace("SERVER", scheme).replace("forms = ", "forms = ['plain'] or "))
                assert answer["ok"], answer
                assert received(own_api, canary)
        for scheme in SCHEMES:
            (vault / f"api-{scheme}").unlink()
            answer = await agent.run(f"import {scheme} as s\ns.get_item(id=1)")
            assert answer["error"]["kind"] == "config", answer
        places = written(place, agent)
    assert leaks(first, places) == []
    assert leaks(second, places) == []


def test_compile_and_doctor(own_api: Api, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Compiling looks for no secret of a document that everybody is told, and works where nothing is there, though it
    asks with credentials for one that has more. `doctor` says what is missing; what it finds, it does not print. CONTRACT:
    AUT-18, AUT-12."""
    vault = tmp_path_factory.mktemp("vault")
    known = drawn("file", "cmd", "keyring")
    place = project(tmp_path, vault, own_api, known)
    told = place.run("doctor")
    assert leaks(known, {"doctor": f"{told.stdout}{told.stderr}".encode()}) == []
    assert "✗ server" not in told.stdout
    for scheme in known:
        (vault / f"api-{scheme}").unlink()
    (vault / "show.sh").write_text(f"touch {shlex.quote(str(vault / 'ran'))}\nexit 4")
    compiled = place.run("compile", "--force")
    assert compiled.returncode == 0, compiled.stderr
    assert "everybody" not in compiled.stdout
    assert not (vault / "ran").exists()
    place.file.write_text(place.file.read_text().replace("spec = ", "spec_auth = true\nspec = "))
    compiled = place.run("compile", "--force")
    assert compiled.returncode == 0, compiled.stderr
    assert compiled.stdout.count("as everybody sees it") == len(known)
    assert (vault / "ran").exists()
    told = place.run("doctor")
    for why in ("api-file} cannot be read: No such file", "failed with exit code 4", "nothing for 'keyring' of 'api'"):
        assert why in told.stdout, told.stdout
    assert "Traceback" not in told.stderr
    assert disguises(known["file"])
