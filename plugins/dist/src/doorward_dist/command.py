"""`doorward dist`: the commands, which import what they do when they are invoked."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click
from doorward_cli import Project, common, print_json, say

if TYPE_CHECKING:
    from doorward import Gateway

_FOLDER = click.Path(path_type=Path, file_okay=False, exists=True)


class Dist(click.Group):
    """The group, which also has `doctor` say whether the files of the active distribution are as pinned."""

    async def checks(self, gateway: Gateway) -> AsyncIterator[tuple[str, bool, str]]:
        """One line, since a gateway is open: what differs from the pins refuses the start."""
        from doorward_dist.distribution import find_distribution

        if (found := find_distribution()) is None:
            return
        gateway.plugins.index.check()
        if count := len(found.manifest.files):
            yield f"distribution {found.given_by}: the files of {count} packages are as pinned", True, ""
        else:
            advice = "Build it with `doorward dist build`, which writes their hashes."
            yield f"distribution {found.given_by}: it pins no files", True, advice


@click.group(cls=Dist)
def dist() -> None:
    """An organisation's own distribution of Doorward: pinned plugins, defaults, and locks that users cannot open."""


@dist.command()
@common
@click.argument("folder", type=_FOLDER, default=".")
@click.option(
    "--out", type=click.Path(path_type=Path, file_okay=False), help="Where to write; FOLDER/dist if not given."
)
@click.option(
    "--wheels", "links", type=_FOLDER, multiple=True, help="A folder with wheels, beside the index; repeatable."
)
@click.option(
    "--lock", is_flag=True, help="Also pin all that is needed: requirements.txt with hashes, and a CycloneDX SBOM."
)
@click.option("--image", is_flag=True, help="Also write a Dockerfile that serves it. Implies --lock.")
def build(project: Project, folder: Path, out: Path | None, links: tuple[Path, ...], lock: bool, image: bool) -> None:
    """Make the wheel of the distribution whose distribution.toml is in FOLDER.

    Everything in it is checked: names and types of keys, the settings of plugins that are installed here, and that the
    required plugins are pinned. The hash of the files of each pinned package becomes part of the wheel.
    """
    from doorward_dist import build as building
    from doorward_dist import image as images
    from doorward_dist import lock as locking
    from doorward_dist import source

    read, into = source.read(folder), out or folder / "dist"
    wheel, unchecked = building.build(folder, read, into, links)
    written = [wheel]
    if lock or image:
        written += locking.write(wheel, into, links)
    if image:
        written += images.write(read.distribution, wheel, into)
    for what in unchecked:
        say(f"not checked: {what}", err=True)
    if project.json:
        print_json({"written": [str(file) for file in written], "unchecked": unchecked})
    for file in written if not project.json else ():
        say(f"wrote {file}")


@dist.command()
@common
def show(project: Project) -> None:
    """Show the active distribution: what it pins, locks, requires and refuses."""
    from doorward_dist.show import described, lines

    told = described()
    if project.json:
        print_json(told)
    else:
        say("\n".join(lines(told)))


@dist.command()
@common
@click.option(
    "--lock", type=click.Path(path_type=Path, dir_okay=False), help="Also compare all packages with requirements.txt."
)
def verify(project: Project, lock: Path | None) -> int:
    """Verify that this environment is what the active distribution pins, and that users cannot change it.

    Read are all files of all packages that it needs. Ends with 1 if anything is wrong. If the start itself is refused,
    `python -I -m doorward_dist verify` says all that is wrong.
    """
    from doorward_dist import lock as locking
    from doorward_dist.verify import verify as found_by

    found = list(found_by(locking.read(lock) if lock else None))
    if project.json:
        print_json({"ok": not found, "problems": [asdict(finding) for finding in found]})
    for finding in found if not project.json else ():
        say(f"{finding.what}. {finding.hint}")
    if not found and not project.json:
        say("all is as pinned")
    return 1 if found else 0
