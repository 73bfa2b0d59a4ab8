"""`doorward plugin new` and `doorward plugin check`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from doorward_cli import plain, print_json, say

from doorward_testing.authoring.kinds import kinds

if TYPE_CHECKING:
    from doorward_testing.authoring.findings import Found

PLUGIN_API = 1


@click.group()
def plugin() -> None:
    """For authors of plugins: write a new one, or check one. (`doorward plugins` lists what is installed.)"""


class _Kind(click.ParamType):  # type: ignore[type-arg]
    """A kind, whose words may also be joined by hyphens, as options have them."""

    name = "kind"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        return str(click.Choice(list(kinds())).convert(value.replace("-", "_"), param, ctx))


@plugin.command()
@click.argument("kind", type=_Kind(), metavar="KIND")
@click.argument("name")
@click.option(
    "--prefix",
    default="my",
    show_default=True,
    help="Who you are: the first word of the names; a distribution needs none.",
)
@click.option("--distribution", default="", help="PREFIX-doorward-KIND-NAME if not given.")
@click.option("--package", default="", help="The distribution's name as Python has it, if not given.")
@click.option("--folder", metavar="PATH", default="", help="Where it is written; ./DISTRIBUTION if not given.")
@click.option("--license", metavar="SPDX", default="", help="For example Apache-2.0.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--quiet", is_flag=True, help="Show the files alone, and not what is next.")
def new(kind: str, name: str, as_json: bool, quiet: bool, **names: str) -> None:
    """Write a new plugin: a small, complete package, with tests that pass. NAME is its word in the configuration."""
    from doorward_testing.authoring.package import planned

    package = planned(kinds()[kind], name, **names)
    files = package.write()
    if as_json:
        about = {"kind": kind, "name": package.name, "distribution": package.distribution, "package": package.package}
        print_json(about | {"folder": str(package.folder), "files": [file.as_posix() for file in files]})
        return
    say(f"{package.distribution}: {package.filled(package.kind.about)}\n")
    for file in files:
        say(f"  {package.folder / file}")
    if not quiet:
        say(
            f"\nNext:\n  cd {package.folder}\n  python -m pip install --editable '.[test]'\n  python -m pytest\n"
            "  doorward plugin check .\n\nREADME.md says how to try it in a served gateway."
        )


assert new.help
new.help += "\n\n\b\nKIND is one of:\n" + "\n".join(
    f"  {kind.name:<13} {kind.about.replace('@name@', 'NAME')}" for kind in kinds().values()
)


@plugin.command()
@click.argument("target", metavar="PATH|NAME")
@click.option("--tests/--no-tests", default=True, show_default=True, help="Run its tests.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--quiet", is_flag=True, help="Show only what is wrong or to do.")
def check(target: str, tests: bool, as_json: bool, quiet: bool) -> int:
    """Check a plugin: the folder of its source (PATH), or an installed one (NAME, KIND/NAME, or a distribution).

    Loads it as core does, in processes of their own, and runs its tests; it runs the code of that plugin. Nothing is
    written into its folder. Ends with 1 if anything is wrong.
    """
    from dataclasses import asdict

    from doorward_testing.authoring.candidate import candidate
    from doorward_testing.authoring.checking import checked

    one, found = candidate(target), []
    if not (as_json or quiet):
        say(f"{one.distribution} {one.version}" + (f" in {one.folder}" if one.folder else ""))
    for line in checked(one, tests=tests):
        found.append(line)
        if not as_json and not (quiet and line.status == "ok"):
            _show(line)
    is_ok = all(line.status != "wrong" for line in found)
    if as_json:
        about = {"distribution": one.distribution, "version": one.version, "ok": is_ok}
        print_json(about | {"checks": [asdict(line) for line in found]})
    return 0 if is_ok else 1


def _show(line: Found) -> None:
    colour = {"ok": "green", "to do": "yellow", "wrong": "red"}[line.status]
    mark = click.style(f"{line.status:<6}", fg=colour)
    do = "".join(f"\n         {plain(part)}" for part in line.do.splitlines())
    say(f"{mark} {plain(' '.join(line.check.split()))}: {plain(' '.join(line.says.split()))}{do}", clean=False)
