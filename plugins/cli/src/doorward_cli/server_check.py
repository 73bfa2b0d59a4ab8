"""Whether the calls of a server reach anything, as its source says, for `add` and `doctor`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doorward import DoorwardError
from doorward.abilities import SupportsServerCheck
from doorward.configuration import module_name

if TYPE_CHECKING:
    from doorward import Gateway

Found = tuple[str, bool, str]
"""What was checked, whether it is well, and advice. What is well and has advice is a warning."""


async def check_server(gate: Gateway, name: str) -> list[Found]:
    """What there is to say of a compiled server's calls; nothing where its source cannot tell."""
    module = module_name(name)
    report = gate.catalog.report(module)
    if name in gate.servers.broken or report is None:
        return []
    if report.left_out and not report.functions:
        many, keys = sum(map(len, report.left_out.values())), " and ".join(f"`{key}`" for key in report.left_out)
        return [(f"no function is left of {many}", False, f"{keys} of [servers.{name}] leave them out.")]
    if report.skipped and not report.functions:
        first = report.skipped[0]
        return [
            (f"none of {len(report.skipped)} operations became a function", False, f"{first['where']}: {first['why']}")
        ]
    try:
        source = gate.servers.source(module)
        if not isinstance(source, SupportsServerCheck):
            return []
        with gate.plugins.blamed("source", gate.servers.configured[name].settings.source, "check", server=name):
            found = await source.check([*gate.catalog.functions(module)])
            return [(str(what), bool(ok), str(advice)) for what, ok, advice in found]
    except DoorwardError as error:
        return [(str(error), False, error.hint or "")]
