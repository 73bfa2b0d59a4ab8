"""A Dockerfile that serves a distribution: installed by its lock, owned by root, run by somebody else, read-only."""

from __future__ import annotations

import sys
from pathlib import Path

from doorward_dist.source import About

FILES = ("Dockerfile", ".dockerignore")


def write(about: About, wheel: Path, into: Path) -> list[Path]:
    """Write the Dockerfile and what it may see of the folder."""
    python = f"{sys.version_info.major}.{sys.version_info.minor}"  # the lock is for this one
    texts = (_dockerfile(about, wheel.name, python), _IGNORED.format(wheel=wheel.name))
    files = [into / name for name in FILES]
    for file, text in zip(files, texts, strict=True):
        file.write_text(text, encoding="utf-8")
    return files


_IGNORED = """\
*
!requirements.txt
!{wheel}
!wheels
!doorward.toml
"""


def _dockerfile(about: About, wheel: str, python: str) -> str:
    return f"""\
# {about.name} {about.version}, by `doorward dist build --image`.
# Put doorward.toml beside it, and wheels that no index has in wheels/. Then: docker build -t {about.package} .
# BASE may name an image by its digest. Without an index, all wheels are in wheels/: --build-arg PIP_NO_INDEX=1
# To run it:      docker run --read-only --tmpfs /tmp --cap-drop ALL --security-opt no-new-privileges \\
#                   --volume {about.package}:/var/lib/doorward --network host {about.package}
ARG BASE=python:{python}-slim

FROM ${{BASE}} AS install
ARG PIP_NO_INDEX
COPY {wheel} requirements.txt wheel[s] /wheels/
# By pip of the base: nothing is in the image that the lock does not name.
RUN python -m venv --without-pip /opt/doorward \\
 && python -m pip --python /opt/doorward/bin/python install --no-cache-dir --require-hashes --no-deps \\
    --only-binary :all: \\
    --find-links /wheels --requirement /wheels/requirements.txt

FROM ${{BASE}}
COPY --from=install /opt/doorward /opt/doorward
COPY requirements.txt doorward.toml /etc/doorward/
RUN useradd --system --uid 10001 --home-dir /var/lib/doorward --create-home doorward
ENV DOORWARD_DISTRO={about.name} DOORWARD_CONFIG=/etc/doorward/doorward.toml DOORWARD_STATE_DIR=/var/lib/doorward/state
USER 10001
WORKDIR /var/lib/doorward
VOLUME /var/lib/doorward
# The build fails if what is installed is not what the lock says.
RUN ["/opt/doorward/bin/python", "-I", "-m", "doorward_dist", "verify", "--lock", "/etc/doorward/requirements.txt"]
HEALTHCHECK --interval=60s --timeout=20s --start-period=30s \\
    CMD ["/opt/doorward/bin/python", "-I", "-m", "doorward", "health"]
ENTRYPOINT ["/opt/doorward/bin/python", "-I", "-m", "doorward"]
CMD ["serve", "--transport", "http"]
"""
