"""When a schedule ticks: cron expressions in time zones, as Debian's cron reads them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import islice

MAX_COUNTED = 10_000
"""Ticks that passed and are counted one by one; of more it is said that there were as many at least."""


def check_zone(name: str) -> str:
    """Raises: ValueError for a time zone that is not in the database."""
    from zoneinfo import ZoneInfo, available_timezones

    try:
        ZoneInfo(name)
    except (OSError, ValueError, KeyError):  # ZoneInfoNotFoundError is a KeyError
        from difflib import get_close_matches

        near = get_close_matches(name, sorted(available_timezones()), 1)
        meant = f"did you mean {near[0]}?" if near else "write one of the IANA database, such as Europe/Berlin"
        raise ValueError(f"there is no time zone {name[:60]!r}: {meant}") from None
    return name


def check_schedule(text: str) -> str:
    """Raises: ValueError for what is no cron expression of five fields, or never ticks."""
    from cronsim import CronSimError

    try:
        if len(text.split()) != 5:
            raise CronSimError("Wrong number of fields")
        if next(Schedule(text, "UTC").after(0.0), None) is None:
            raise CronSimError("it never ticks")
    except CronSimError as error:
        raise ValueError(
            f"{text[:80]!r} is no cron expression ({error}): minute 0-59, hour 0-23, day of the month 1-31 or L, "
            "month 1-12 or jan-dec, day of the week 0-7 or sun-sat; *, lists 1,15, ranges 1-5, steps */10"
        ) from None
    return text


class Schedule:
    """A cron expression in a time zone. Where the clock is put forward, what was to run in the hour that is left out
    runs at its end; where it is put back, what runs at a certain time of the day runs once, and what runs every so
    often goes on."""

    def __init__(self, expression: str, zone: str) -> None:
        from zoneinfo import ZoneInfo

        self._expression, self._zone = expression, ZoneInfo(zone)

    def after(self, moment: float) -> Iterator[float]:
        """The ticks after a moment, each later than the one before."""
        from cronsim import CronSim

        last = moment
        for tick in CronSim(self._expression, datetime.fromtimestamp(moment, self._zone)):
            if (at := tick.timestamp()) > last:
                yield (last := at)

    def between(self, start: float, end: float) -> list[float]:
        """The ticks after `start`, until `end`: all, or `MAX_COUNTED` of the first ones and the last."""
        from cronsim import CronSim

        found: list[float] = []
        for at in islice(self.after(start), MAX_COUNTED):
            if at > end:
                return found
            found.append(at)
        newest = next(CronSim(self._expression, datetime.fromtimestamp(end + 1, self._zone), reverse=True), None)
        return found if newest is None else sorted({*found, newest.timestamp()})


def name_of(moment: float) -> str:
    """A tick as its name: its time in UTC."""
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
