"""What observers are told: events without contents, in batches, off the path of all calls."""

from __future__ import annotations

from doorward_observers.events import AuthChosen, CallFinished, Event, EventsDropped, RunFinished, RunStarted

__all__ = [
    "AuthChosen",
    "CallFinished",
    "Event",
    "EventsDropped",
    "RunFinished",
    "RunStarted",
]
