# `make reference` writes this file.
from doorward.access.effects import Effects as Effects
from doorward.access.patterns import Patterns as Patterns
from doorward.access.patterns import is_wild as is_wild
from doorward.access.policy import Policy as Policy
from doorward.access.policy import Reached as Reached
from doorward.access.rules import Rules as Rules
from doorward.calls.permissions import nobody_asks as nobody_asks
from doorward.model.calls import ACCOUNT as ACCOUNT
from doorward.model.calls import ALLOWED as ALLOWED
from doorward.model.calls import stricter as stricter

__all__ = [
    "ACCOUNT",
    "ALLOWED",
    "Effects",
    "Patterns",
    "Policy",
    "Reached",
    "Rules",
    "is_wild",
    "nobody_asks",
    "stricter",
]
