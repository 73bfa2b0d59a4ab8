"""What to do about a program that no executor could run, or that needs a package which its executor has not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doorward import DoorwardError
from doorward.abilities import HasPackages, HasPaths
from doorward.texts import RENAMED_PACKAGES

if TYPE_CHECKING:
    from doorward import Gateway, Settings

_AS_THEY_ARE = [
    "aiohttp", "attrs", "duckdb", "httpx", "httpx2", "jinja2", "lxml", "markdown", "matplotlib", "msgpack",
    "networkx", "numpy", "openpyxl", "orjson", "pandas", "plotly", "polars", "psutil", "pyarrow", "pydantic",
    "pypdf", "pytz", "requests", "rich", "scipy", "seaborn", "statsmodels", "sympy", "tabulate", "tqdm", "urllib3",
    "websockets", "xlrd", "xlsxwriter",
]  # fmt: skip
_DISTRIBUTIONS = {**RENAMED_PACKAGES, **{name: name for name in _AS_THEY_ARE}}
"""Import names, each with its distribution. A hint names no other: a program may import any name, and
anybody can publish a package that is called so."""


def no_executor(gateway: Gateway, begun: str = "", *, session: bool = False, language: str, module: str = "") -> str:
    """See `FunctionTexts.no_executor`."""
    executors = gateway.executors
    others = [name for name in executors.names if name != begun] if session else _after(gateway, begun)
    if begun and (elsewhere := [name for name in others if executors.may_run(name, language)]):
        if session:
            takers = " or ".join(elsewhere)
            return f'Open a new session (session_id="new") whose first program needs this: {takers} may take it.'
        return (
            f"If this fails before any call, as an import at the top does, {elsewhere[0]} takes the program "
            "(in a session: its first program)."
        )
    if adds := _adds(gateway, module.partition(".")[0]):
        return adds
    installed = sorted(executors.installed)
    if others := [name for name in installed if name not in executors.names and executors.may_run(name, language)]:
        return f"Installed but not configured: {', '.join(others)}; the operator can add it to `executor`."
    if not executors.names:
        return "The operator must install one: `pip install doorward[standard]` brings one."
    more = "full CPython and packages" if language == "python" else f"more of {language}"
    return f"Or ask the operator for an executor that runs {more}."


def lacks(gateway: Gateway, executor: str, package: str) -> str:
    """A hint for a program in Python that needs a package which this executor does not have."""
    full = isinstance(_settings_of(gateway, executor), HasPackages)
    if not full and _after(gateway, executor):
        return no_executor(gateway, executor, language="python")
    having = [each["executor"] for each in gateway.executors.describe() if package in each.get("packages", ())]
    if having:
        return f"The executor {having[0]!r} has it: the operator can name that one first in `executor`."
    if full:
        command = f"doorward sandbox add {executor} {_DISTRIBUTIONS.get(package, 'PACKAGE')}"
        return f"The operator can add packages: `{command}`, which writes `[executors.{executor}] packages`."
    return no_executor(gateway, language="python", module=package)


def _after(gateway: Gateway, executor: str) -> list[str]:
    """The executors that are tried after this one."""
    names = [*gateway.executors.names]
    return names[names.index(executor) + 1 :] if executor in names else []


def _adds(gateway: Gateway, module: str) -> str:
    """How the operator adds a well-known package; empty for another one, or if no installed executor takes any."""
    if module not in _DISTRIBUTIONS:
        return ""
    takers = [name for name in sorted(gateway.executors.installed) if _takes_packages(gateway, name)]
    command = " or ".join(f"`doorward sandbox add {name} {_DISTRIBUTIONS[module]}`" for name in takers)
    return command and f"The operator can add it: {command}."


def _takes_packages(gateway: Gateway, executor: str) -> bool:
    try:
        return isinstance(_settings_of(gateway, executor), HasPackages)
    except DoorwardError:
        return False


def shows_paths(gateway: Gateway, executor: str) -> bool:
    """Whether the operator can show files of the machine to sandboxes of this executor."""
    return isinstance(_settings_of(gateway, executor), HasPaths)


def _settings_of(gateway: Gateway, executor: str) -> Settings:
    return gateway.plugins.settings("executor", executor, gateway.loaded)
