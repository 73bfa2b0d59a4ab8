from __future__ import annotations

from email.utils import formatdate

from doorward_http import retry_after


def test_retry_after() -> None:
    """Retry-After: seconds or a date; nonsense is ignored."""
    assert retry_after("120") == 120
    assert retry_after(formatdate(0, usegmt=True)) == 0
    assert [retry_after(x) for x in ("soon", "-1", "nan", "")] == [None] * 4


def test_no_time_is_longer_than_makes_sense() -> None:
    """Whatever a server says: such a time is shown to people, and counted with."""
    assert retry_after("1e300") == retry_after("Fri, 31 Dec 9999 23:59:59 GMT") == 366 * 86_400
