"""The audit log against the conformance class of observers, as any third party's observer."""

from __future__ import annotations

from doorward_audit_jsonl import AuditLog
from doorward_testing import ObserverConformance


class TestAuditConformance(ObserverConformance):
    plugin = AuditLog
