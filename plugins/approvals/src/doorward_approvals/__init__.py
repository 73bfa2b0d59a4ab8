"""Approvals: a person says yes to a call before it is made, at the client, by a command or by another way; and logs in
where a call lacks that."""

from __future__ import annotations

from doorward_approvals.approvals import Approvals as Approvals
from doorward_approvals.request import ApprovalHooks as ApprovalHooks
from doorward_approvals.request import ApprovalRequest as ApprovalRequest
from doorward_approvals.requests import REQUESTS as REQUESTS
from doorward_approvals.requests import Requests as Requests
from doorward_approvals.settings import ApprovalSettings as ApprovalSettings

__all__ = ["REQUESTS", "ApprovalHooks", "ApprovalRequest", "ApprovalSettings", "Approvals", "Requests"]
