"""Conformance tests of commands: inherit `CommandConformance`, and say which command it is."""

from __future__ import annotations

import json
from functools import partial
from typing import Any, ClassVar

import pytest

from doorward_testing.checks import check_light_import
from doorward_testing.conformance.base import Conformance, fail, require

NO_OPTION = "--surely-no-such-option"


class CommandConformance(Conformance):
    """For commands. Say `command`, the click command, and `name`, that of its entry point. Override `works`, command
    lines that succeed, and `fails`, some that do not: each the words after `doorward NAME`."""

    command: Any = None
    name: str = ""
    takes_json: ClassVar[bool] = True
    """Whether it takes `--json` (the decorator `doorward_cli.common` brings it)."""

    def works(self, host: Any) -> list[list[str]]:
        """Command lines that succeed. `host` has the sample server `weather` configured."""
        return []

    def fails(self, host: Any) -> list[list[str]]:
        """Command lines that fail: a configuration that is not there, for example."""
        return []

    @pytest.fixture(autouse=True)
    def _installed(self, doorward_host: Any, cli: Any) -> None:
        import click

        from doorward_testing.samples import CONFIG

        if self.command is None or not self.name:
            self.say('command, name = your_command, "word"')
        require(
            isinstance(self.command, click.Command),
            f"{self.command!r} is no click command: decorate the function with @click.command()",
        )
        doorward_host.install("command", self.name, self.command)
        doorward_host.write(CONFIG)
        self.run = partial(cli, *self.name.split("."))
        self.said = f"doorward {self.name.replace('.', ' ')}"

    def test_it_has_help(self) -> None:
        """`--help` says in a sentence what the command does, and what each option means."""
        ended = self.run("--help")
        require(ended.code == 0, f"{self.said} --help ended with {ended.code}: {ended.err}")
        require(self.command.help, f"{self.name} has no help: give its function a docstring")
        silent = [option.name for option in _options(self.command) if not getattr(option, "help", None)]
        require(not silent, f"options without help: {silent}")

    def test_an_unknown_option_is_refused(self) -> None:
        """The exit code is 2, and the message names the option."""
        ended = self.run(NO_OPTION)
        require(ended.code == 2, f"{self.said} {NO_OPTION} ended with {ended.code}, not with 2")
        require(NO_OPTION in ended.err, f"the message does not name the option: {ended.err}")
        require(not ended.out, "it printed to standard output, where only data belong")

    def test_it_works(self, doorward_host: Any) -> None:
        """Command lines that should succeed do, and print JSON where it is asked for."""
        if not (lines := self.works(doorward_host)):
            pytest.skip("override `works`: command lines that succeed")
        for words in lines:
            ended = self.run(*words)
            require(ended.code == 0, f"{self.said} {' '.join(words)} ended with {ended.code}: {ended.err}")
            if "--json" in words:
                self._json(words, ended.out)

    def test_errors_are_one_message(self, doorward_host: Any) -> None:
        """What fails ends with 1, 2 or 3 and says why, without a traceback; with `--json` it prints one value, for an
        error an object `error`."""
        if not (lines := self.fails(doorward_host)):
            pytest.skip("override `fails`: command lines that fail")
        for words in lines:
            said = f"{self.said} {' '.join(words)}"
            ended = self.run(*words)
            require(ended.code in (1, 2, 3), f"{said} ended with {ended.code}: raise a doorward.DoorwardError")
            require("This is a defect" not in ended.err, f"{said} failed in an unexpected way: {ended.err}")
            require("Traceback" not in ended.err, f"{said} shows a traceback: {ended.err}")
            require(f"{ended.out}{ended.err}".strip(), f"{said} says nothing")
            if self.takes_json:
                told = self._json(words, self.run(*words, "--json").out)
                is_told = "error" in told or not ended.err.startswith("error:")
                require(is_told, f"{said} --json does not tell the error: {told}")

    def test_it_is_light(self) -> None:
        """To import it imports nothing heavy: `doorward` imports it before it knows whether it is needed."""
        module = getattr(getattr(self.command, "callback", None), "__module__", "")
        if not module:
            pytest.skip("a group of commands has no module of its own")
        try:
            check_light_import(module)
        except AssertionError as error:
            fail(str(error).partition("\n")[0])

    def _json(self, words: list[str], text: str) -> Any:
        try:
            return json.loads(text)
        except ValueError:
            fail(f"{self.said} {' '.join(words)} did not print one JSON value: {text[:500]}")


def _options(command: Any) -> list[Any]:
    """The options of a command and of its subcommands."""
    own = [one for one in command.params if one.param_type_name == "option"]
    return [*own, *(option for sub in getattr(command, "commands", {}).values() for option in _options(sub))]
