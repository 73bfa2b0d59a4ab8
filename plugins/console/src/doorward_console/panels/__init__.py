"""The pages that the console has by itself: a module and a template each."""

from __future__ import annotations

from doorward_console.panel import Panel
from doorward_console.panels import approvals, audit, functions, policy, runs, servers, set_up, use

_OURS = "doorward_console"

PANELS = [
    Panel(
        "approvals", "Inbox", approvals.view, "approvals.html", _OURS, 10, approvals.post,
        needs="doorward_approvals:REQUESTS",
    ),
    Panel("runs", "Runs", runs.view, "runs.html", _OURS, 20, runs.post),
    Panel("servers", "Servers", servers.view, "servers.html", _OURS, 30, servers.post),
    Panel("functions", "Functions", functions.view, "functions.html", _OURS, 40, functions.post),
    Panel("policy", "Policy", policy.view, "policy.html", _OURS, 50),
    Panel("use", "Use", use.view, "use.html", _OURS, 60),
    Panel("audit", "Audit", audit.view, "audit.html", _OURS, 70, needs="doorward_audit_jsonl:AUDIT"),
    Panel("set-up", "Set-up", set_up.view, "set_up.html", _OURS, 80, set_up.post, operators=True),
]  # fmt: skip
