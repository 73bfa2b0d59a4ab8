"""The image of a sandbox: made from a base image, or from the archive of a root file system; and its description."""

from __future__ import annotations

import hashlib
import importlib.util
import io
import json
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from doorward import ExecutorError
from doorward_containers import ULIMITS, is_podman, place, remove

from doorward_sandbox_docker.container import Image
from doorward_sandbox_docker.engine import BUILD, address

if TYPE_CHECKING:
    from docker import APIClient

    from doorward_sandbox_docker.settings import DockerSettings

MADE_FROM = "doorward.made-from"
"""The label of an image that holds the settings with which it was made."""
OLDEST = (3, 9)
"""The oldest Python in which a sandbox works."""
Tell = Callable[[str], None]


def recipe(settings: DockerSettings) -> str:
    """The settings that make an image, as a short text for a label."""
    made_from = str(_archive(settings.rootfs)) if settings.rootfs else settings.base
    made_of = json.dumps({"from": made_from, "packages": sorted(settings.packages)})
    return hashlib.sha256(made_of.encode()).hexdigest()[:32]


def named(settings: DockerSettings) -> str:
    """The configured name of the image; else a name derived from the settings, so that no project
    changes another's image."""
    return settings.image or f"doorward-sandbox:{recipe(settings)[:12]}"


def checked(client: APIClient, settings: DockerSettings) -> Image:
    """The image that is configured. Raises: ExecutorError if it was made by us with other settings; DockerException if
    there is none."""
    found = client.inspect_image(settings.image)
    if _label(found) not in (None, recipe(settings)):
        raise ExecutorError(
            f"the image {settings.image!r} was made with other settings",
            hint=f"{BUILD} Or leave `image` out: then each choice of `base`, `rootfs` and `packages` has an image of "
            f"its own.",
        )
    return Image(found["Id"], tuple(found["Config"].get("Volumes") or ()))


def _label(image: Mapping[str, Any]) -> str | None:
    """The label of an image that we made, or of the image that it is based on."""
    return (image["Config"].get("Labels") or {}).get(MADE_FROM)


def _archive(path: str) -> Path:
    return Path(path).expanduser().absolute()


def build(client: APIClient, settings: DockerSettings, tell: Tell) -> str:
    """Make the image; runs in a thread, with a client that has a long timeout. Returns: a sentence
    that says what was made.

    Raises: ExecutorError, DockerException.
    """
    if settings.rootfs:
        _from_archive(client, settings, tell)
    else:
        _from_dockerfile(client, settings, tell)
    about = client.inspect_image(settings.image)
    packages = f" with {', '.join(settings.packages)}" if settings.packages else ""
    size, origin = f"{about['Size'] / 1e6:.0f} MB", settings.rootfs or settings.base
    return f"The image {settings.image!r} is made{packages}: {size}, from {origin}."


def _from_dockerfile(client: APIClient, settings: DockerSettings, tell: Tell) -> None:
    files = {
        "Dockerfile": (resources.files("doorward_sandbox_docker") / "Dockerfile").read_bytes(),
        "requirements.txt": "".join(f"{package}\n" for package in settings.packages).encode(),
    }
    context = io.BytesIO()
    with tarfile.open(fileobj=context, mode="w") as tar:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
    context.seek(0)
    said = client.build(
        fileobj=context, custom_context=True, tag=settings.image, rm=True, forcerm=True, decode=True,
        buildargs={"BASE": settings.base}, labels={MADE_FROM: recipe(settings)},
    )  # fmt: skip
    last: list[str] = []
    for part in said:
        if "error" in part:
            told = " ".join([*last[-8:], str(part["error"]).strip()])
            hint = (
                "See what it said. Without a registry, set [executors.docker] rootfs to the archive of a root file "
                "system."
            )
            raise ExecutorError(f"the image could not be built from {settings.base!r}: {told}", hint=hint)
        for line in str(part.get("stream", "")).splitlines():
            if line.strip():
                tell(line.strip())
                last.append(line.strip())


def _from_archive(client: APIClient, settings: DockerSettings, tell: Tell) -> None:
    """Import the archive, add the packages, compile them and commit the result. The container has no network: packages
    come from this machine's pip."""
    archive = _archive(settings.rootfs or "")
    if not archive.is_file():
        raise ExecutorError(
            f"there is no archive {archive}", hint="[executors.docker] rootfs is the path of a tar archive."
        )
    tell(f"Importing {archive} …")
    answer = client.import_image_from_file(str(archive))
    imported = json.loads(answer.splitlines()[-1])["status"]
    command = ["-c", _ABOUT]
    made = client.create_container_from_config(
        {
            "Image": imported,
            "Entrypoint": [settings.python],
            "Cmd": command,
            "User": "0",
            "HostConfig": {"NetworkMode": "none", "Ulimits": ULIMITS},
        }
    )["Id"]
    try:
        about = _ran(client, made)
        if tuple(about["version"]) < OLDEST:
            version = ".".join(map(str, about["version"]))
            raise ExecutorError(
                f"the Python of {archive} is {version}", hint=f"{'.'.join(map(str, OLDEST))} or newer is needed."
            )
        if settings.packages:
            tell(f"Getting {', '.join(settings.packages)} for Python {'.'.join(map(str, about['version']))} …")
            with tempfile.TemporaryDirectory(prefix="doorward") as folder:
                _install(settings.packages, about, Path(folder))
                tell("Putting them into the image …")
                with tempfile.TemporaryFile() as layer:
                    with tarfile.open(fileobj=layer, mode="w") as tar:
                        tar.add(folder, ".", filter=_owned)
                    layer.seek(0)
                    client.put_archive(made, about["place"], layer)
            _ran(client, made)
        changes = [f"USER {settings.user}", f"CMD {json.dumps([settings.python])}"]
        changes.append(f"LABEL {MADE_FROM}={recipe(settings)}")
        repository, _, tag = settings.image.partition(":")
        client.commit(made, repository, tag or "latest", changes=changes)
    finally:
        remove(client, made)


_ABOUT = """
import compileall, json, os, platform, sys, sysconfig
place = sysconfig.get_path("purelib")
os.makedirs(place, exist_ok=True)
compileall.compile_dir(place, quiet=2, workers=0 if sys.version_info > (3, 5) else 1)
machine, libc = platform.machine(), platform.libc_ver()
print(json.dumps({"version": sys.version_info[:2], "place": place, "machine": machine, "libc": libc}))
"""


def _ran(client: APIClient, id: str) -> Any:
    """Start the container, which compiles the packages in it. Returns: what it says about its Python, its last line;
    the exit code does not count, as a busy Podman may lose it."""
    client.start(id)
    code = client.wait(id)["StatusCode"]
    said = client.logs(id, stdout=True, stderr=True).decode(errors="replace")
    try:
        return json.loads(said.splitlines()[-1])
    except (IndexError, ValueError):
        raise ExecutorError(f"the Python of the image does not work, it ended with {code}: {said[-2000:]}") from None


def _owned(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    """Make an entry readable for everyone and writable for root only."""
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    entry.mode = 0o755 if entry.isdir() or entry.mode & 0o100 else 0o644
    return entry


def _install(packages: Sequence[str], about: Mapping[str, Any], folder: Path) -> None:
    """Install packages for the image's Python, as wheels, into a folder. None of their code runs on this machine.

    Raises: ExecutorError.
    """
    name, libc = about["libc"]
    newest = int(libc.split(".")[1]) if name == "glibc" else 2
    kind = "manylinux_2" if name == "glibc" else "musllinux_1"
    platforms = [f"{kind}_{minor}_{about['machine']}" for minor in range(newest, 0, -1)] + [
        f"manylinux2014_{about['machine']}"
    ]
    common = ["--target", str(folder), "--python-version", ".".join(map(str, about["version"])), "--only-binary=:all:"]
    if importlib.util.find_spec("pip"):
        command = [
            sys.executable,
            "-m",
            "pip",
            "install",
            "--quiet",
            "--no-compile",
            "--disable-pip-version-check",
            *common,
        ]
        command += [part for platform in platforms for part in ("--platform", platform)]
    elif uv := shutil.which("uv"):
        system = "unknown-linux-gnu" if name == "glibc" else "unknown-linux-musl"
        command = [uv, "pip", "install", "--quiet", *common, "--python-platform", f"{about['machine']}-{system}"]
    else:
        raise ExecutorError("packages need pip or uv on this machine", hint="Install one of them where Doorward runs.")
    ended = subprocess.run([*command, *packages], capture_output=True, text=True, check=False)  # noqa: S603  # the operator's own packages
    if ended.returncode:
        raise ExecutorError(
            f"the packages cannot be had: {ended.stderr.strip()[-2000:]}", hint="Only wheels are taken."
        )


def described(client: APIClient, settings: DockerSettings) -> list[str]:
    """Sentences that describe the engine and the image. Raises: ExecutorError, DockerException."""
    from docker.errors import ImageNotFound

    version, info = client.version(), client.info()
    kind = "Podman" if is_podman(version) else "Docker"
    rootless = any("rootless" in option for option in info.get("SecurityOptions") or ())
    told = [
        f"{kind} {version['Version']} at {place(address(settings))['base_url']}, "
        f"{'rootless' if rootless else 'as root'}, {info['OperatingSystem']}"
    ]
    told.append(
        f"runtime {settings.runtime or info.get('DefaultRuntime') or 'of the engine'}, cgroup "
        f"v{info.get('CgroupVersion', '1')}"
    )
    unheld = [word for key, word in _HELD.items() if info.get(key) is False]
    if unheld:
        told.append(f"this engine does not hold limits of {', '.join(unheld)}; the sandbox holds them by rlimits alone")
    try:
        image = client.inspect_image(settings.image)
    except ImageNotFound:
        return [*told, f"there is no image {settings.image!r}: run `doorward sandbox build docker`"]
    made = _label(image)
    days = max(0, int((time.time() - _seconds(image["Created"])) / 86400))
    told.append(f"image {settings.image!r}, {days} days old, {image['Size'] / 1e6:.0f} MB")
    if made is None:
        told.append("the image was not made by `doorward sandbox build docker`")
    elif made != recipe(settings):
        told.append("the image was made with other settings: run `doorward sandbox build docker`")
    return told


_HELD = {"MemoryLimit": "memory", "PidsLimit": "processes", "CpuCfsQuota": "CPU"}


def _seconds(moment: str) -> float:
    from datetime import datetime

    return datetime.fromisoformat(moment[:19] + "+00:00").timestamp()
