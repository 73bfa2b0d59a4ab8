"""Conformance tests of secret schemes: inherit `SecretSchemeConformance`, and say plugin, scheme and a value."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from doorward import ConfigError, MissingSecret

from doorward_testing.conformance.base import fail, only, require
from doorward_testing.conformance.hooks import HookConformance, ask

AT_ONCE = 16
ODD_NAMES = ("", " ", "/", "//", "a" * 100_000, "ünï🎉", "\0", "../../etc/passwd", "'", "${X}", "a\nb", "--help")
"""Names that an operator may write by mistake."""


class SecretSchemeConformance(HookConformance):
    """For plugins that resolve `${scheme:name}`. Say `plugin` and `scheme`; override `known` and `missing`, and
    `settings`, where it needs any."""

    hooks = ("resolve_secret",)
    scheme: str = ""
    """The word before the colon."""

    def known(self, host: Any) -> tuple[str, str]:
        """A name, and its value: at least six characters."""
        self.say('def known(self, host): return "vault/key", "the value of it"')

    def missing(self, host: Any) -> str:
        """A name for which there is no value."""
        self.say('def missing(self, host): return "vault/none"')

    @pytest.fixture(autouse=True)
    def _scheme(self, _complete: None) -> None:
        if not self.scheme:
            self.say('scheme = "vault"  # the word before the colon')

    @pytest.mark.anyio
    async def test_a_value(self, host: Any) -> None:
        """The value of a name, each time that it is asked for."""
        async with self.opened(host) as plugin:
            (name, value) = self.known(host)
            for _ in range(2):
                with only((), f"${{{self.scheme}:{name}}}", "`known` says that there is a value."):
                    found = ask(plugin, "resolve_secret", scheme=self.scheme, name=name)
                require(found == value, f"${{{self.scheme}:{name}}} is not the value that `known` says")

    @pytest.mark.anyio
    async def test_other_schemes_are_left_alone(self, host: Any) -> None:
        """It answers None to a scheme that is not its own."""
        async with self.opened(host) as plugin:
            (name, _) = self.known(host)
            for scheme in ("other", "", self.scheme.upper() + "x", f"{self.scheme}2", self.scheme[:-1]):
                found = ask(plugin, "resolve_secret", scheme=scheme, name=name)
                require(
                    found is None, f"it answered to the scheme {scheme!r}: answer None unless scheme == {self.scheme!r}"
                )

    @pytest.mark.anyio
    async def test_a_value_that_is_missing(self, host: Any) -> None:
        """It is a MissingSecret or another ConfigError, in which no value stands."""
        async with self.opened(host) as plugin:
            (known, value) = self.known(host)
            ask(plugin, "resolve_secret", scheme=self.scheme, name=known)
            try:
                found = ask(plugin, "resolve_secret", scheme=self.scheme, name=self.missing(host))
            except ConfigError as error:
                require(value not in f"{error} {error.hint}", "the error about a missing value holds another value")
            except Exception as error:
                fail(f"a missing value raised {type(error).__name__}: {error}. Raise doorward.MissingSecret.")
            else:
                fail(f"a missing value is {found!r}: raise doorward.MissingSecret, which says where one is put")

    @pytest.mark.anyio
    async def test_odd_names(self, host: Any) -> None:
        """Whatever is written as a name is a value or a ConfigError."""
        async with self.opened(host) as plugin:
            for name in ODD_NAMES:
                with only(ConfigError, f"${{{self.scheme}:{name[:40]!r}}}", "Raise doorward.ConfigError."):
                    found = ask(plugin, "resolve_secret", scheme=self.scheme, name=name)
                    require(
                        found is None or isinstance(found, str), f"it answered {type(found).__name__} to {name[:40]!r}"
                    )

    @pytest.mark.anyio
    async def test_many_threads_at_once(self, host: Any) -> None:
        """Several threads ask at the same time, for the same and for other names; each gets its own answer."""
        async with self.opened(host) as plugin:
            (known, value), missing = self.known(host), self.missing(host)

            def asked(number: int) -> Any:
                try:
                    return ask(plugin, "resolve_secret", scheme=self.scheme, name=missing if number % 4 == 3 else known)
                except ConfigError:
                    return None

            with ThreadPoolExecutor(AT_ONCE) as threads:
                found = list(threads.map(asked, range(2 * AT_ONCE)))
            wrong = [number for number, one in enumerate(found) if one != (None if number % 4 == 3 else value)]
            require(not wrong, f"{len(wrong)} of {2 * AT_ONCE} threads got another answer than one alone")

    @pytest.mark.anyio
    async def test_in_a_configuration(self, doorward_host: Any) -> None:
        """A server gets the value, and no program sees it."""
        name, value = self.known(doorward_host)
        doorward_host.install("plugin", self.scheme, self.plugin)
        config: dict[str, Any] = {"executor": "inprocess", "cache": "none", "plugins": [self.scheme]}
        config["servers"] = {"weather": {"source": "fake", "token": f"${{{self.scheme}:{name}}}"}}
        if settings := self.settings(doorward_host):
            config["hooks"] = {self.scheme: settings}
        async with doorward_host.gateway(config) as gate:
            try:
                answer = await gate.call("weather.echo_token")
            except MissingSecret as error:
                fail(f"a server did not get ${{{self.scheme}:{name}}}: {error}")
        require("[secret]" in repr(answer), f"a server did not get ${{{self.scheme}:{name}}}, but another value")
        require(value not in repr(answer), "a program sees the value")
