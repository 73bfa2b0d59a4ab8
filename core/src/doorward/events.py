"""What happened, as observers get it in batches."""

from __future__ import annotations

from doorward.model.events import AuthChosen, CallFinished, Event, EventsDropped, RunFinished, RunStarted

__all__ = [
    "AuthChosen",
    "CallFinished",
    "Event",
    "EventsDropped",
    "RunFinished",
    "RunStarted",
]
