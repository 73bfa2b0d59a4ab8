"""What a call that failed for want of credentials says to the operator."""

from __future__ import annotations

from doorward.catalog.function_codec import Report
from doorward.config.config import Server


def auth_hint(server: Server, report: Report | None) -> str:
    """The hint for a call that failed for want of credentials: which types of auth the server may want. It says no
    more, since agents read it. Empty if there is an `auth`."""
    if server.settings.auth:
        return ""
    kinds = dict.fromkeys(
        " and ".join(str(table.get("type")) for table in each["auth"]) for each in (report.auth if report else ())
    )
    of = f" of the type {' or '.join(kinds)}; `doorward doctor` shows what to write" if kinds else ""
    return f"[servers.{server.name}] has no credentials: the operator gives it an `auth`{of}."
