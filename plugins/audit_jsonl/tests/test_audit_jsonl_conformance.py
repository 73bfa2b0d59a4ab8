"""The audit log against the conformance class of observers, as any third party's observer."""

from __future__ import annotations

import pytest
from doorward_audit_jsonl import AuditLog
from doorward_testing import ObserverConformance


@pytest.mark.slow
class TestAuditConformance(ObserverConformance):
    plugin = AuditLog
