"""What conformance classes of drivers share: how the driver is made, and what its class must have."""

from __future__ import annotations

import inspect
from typing import Any, ClassVar

import pytest
from doorward import ConfigError, Settings

from doorward_testing.conformance.base import Conformance, fail, require

UNKNOWN_KEY = "surely_no_such_key"
"""A key that no settings have."""

ASYNC_METHODS = {
    "source": ("fingerprint", "compile", "call", "close"),
    "auth": (),
    "store": (*("commit", "get", "scan", "end", "read", "blob", "acquire", "renew", "release", "signal"), "close"),
    "cache": ("put", "get", "close"),
    "executor": ("open", "close"),
    "observer": ("observe", "close"),
    "search_view": ("fingerprint", "embed", "close"),
}
"""The methods that core awaits, by kind."""

PLAIN_METHODS = {"auth": ("create_auth",), "executor": ("capabilities",)}
"""Those that it calls."""


class DriverConformance(Conformance):
    """For drivers of one `kind`. Say `driver`, its class, and `settings`, where it needs any."""

    kind: ClassVar[str]
    driver: Any = None
    """The class under test."""

    def settings(self, host: Any) -> dict[str, Any]:
        """What an operator writes for the driver in `doorward.toml`."""
        return {}

    @pytest.fixture(autouse=True)
    def _complete(self) -> None:
        """All tests of a driver that is not complete fail with the same sentence."""
        if self.driver is None:
            self.say(f"driver = YourClass  # the {self.kind}")
        if faults := class_faults(self.kind, self.driver):
            fail("\n".join(faults))

    def test_the_driver_is_complete(self) -> None:
        """Its class has `Settings` and all methods of its protocol, asynchronous where core awaits them."""
        assert class_faults(self.kind, self.driver) == []

    def test_unknown_settings_are_refused(self, host: Any) -> None:
        """A misspelt key is an error, which names it."""
        try:
            host.validated(self.driver.Settings, {**self.settings(host), UNKNOWN_KEY: 1})
        except ConfigError as error:
            require(UNKNOWN_KEY in str(error), f"the error about an unknown key does not name it: {error}")
            return
        fail(f"{self.driver.__name__}.Settings takes unknown keys, so a misspelt one is ignored: leave out `extra`")


def class_faults(kind: str, driver: Any) -> list[str]:
    """What the class of a driver lacks, as sentences for its author; none for a complete one."""
    name = getattr(driver, "__name__", repr(driver))
    if not isinstance(driver, type):
        return [f"{name} is no class, and core makes the {kind} of one: name the class itself"]
    found = []
    model = getattr(driver, "Settings", None)
    if not (isinstance(model, type) and issubclass(model, Settings)):
        found.append(
            f"{name} has no `Settings`: write `Settings = doorward.Settings` in the class, or name a subclass of it"
        )
    for method in (*ASYNC_METHODS[kind], *PLAIN_METHODS.get(kind, ())):
        made = inspect.getattr_static(driver, method, None)
        if made is None:
            found.append(f"{name} lacks the method `{method}`, which every {kind} has")
        elif method in ASYNC_METHODS[kind] and not inspect.iscoroutinefunction(getattr(driver, method)):
            found.append(f"{name}.{method} is not asynchronous: write `async def {method}`")
        elif method in PLAIN_METHODS.get(kind, ()) and inspect.iscoroutinefunction(getattr(driver, method)):
            found.append(f"{name}.{method} is asynchronous, and core does not await it: write `def {method}`")
    try:
        inspect.signature(driver).bind(object())
    except (TypeError, ValueError):
        found.append(f"{name} cannot be made with its context alone: write `def __init__(self, context)`")
    return found
