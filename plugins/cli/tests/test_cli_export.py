"""`doorward export stubs`: functions as files."""

from __future__ import annotations

import ast
from typing import Any

from doorward_cli.export import stub
from doorward_testing import Cli
from doorward_testing.samples import CONFIG


def test_stubs_are_python_and_listed(cli: Cli, doorward_host: Any) -> None:
    """A file for each function, which Python can read, and an index; those of functions that are gone are removed. CONTRACT: SRC-26."""
    doorward_host.install_real("text")
    doorward_host.write(CONFIG)
    folder = doorward_host.folder / "out"
    (folder / "servers" / "weather").mkdir(parents=True)
    (folder / "servers" / "weather" / "old.pyi").write_text("")
    told = cli("export", "stubs", str(folder), "--json").json
    files = {file.stem: file.read_text() for file in (folder / "servers" / "weather").glob("*.pyi")}
    assert told["functions"] == len(files) > 1
    assert "old" not in files
    (function,) = (each for each in ast.parse(files["get_forecast"]).body if isinstance(each, ast.FunctionDef))
    assert [each.arg for each in function.args.args] == ["city", "days"]
    assert "* [get_forecast](weather/get_forecast.pyi): " in (folder / "servers" / "README.md").read_text()
    assert "is not available" in cli("export", "stubs", str(folder), "nowhere").err


def test_what_is_no_python_is_a_comment() -> None:
    """A stub never holds anything but declarations."""
    assert stub("f(city: string)").startswith("# f(") or "\n# f(" in stub("f()")
    assert stub("§ odd") == "# § odd\n"
    assert "\n# import os" in stub("def f() -> None: ...\nimport os")
