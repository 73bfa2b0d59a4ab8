"""Functions, and what is wrong with calls of them, as plain text: names and types of JSON. A plugin writes more."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from doorward.catalog.schemas import Definitions, Reader, declared, kinds, parameter_names
from doorward.data.clean_text import visible
from doorward.data.languages import JSON, PYTHON, is_script
from doorward.data.wording import clean
from doorward.model.functions import Function
from doorward.model.names import some
from doorward.model.services import Service

if TYPE_CHECKING:
    from doorward.model.errors import DoorwardError
    from doorward.model.program_names import ProgramNames
    from doorward.model.programs import Failure, Program

_MAX_MISTAKES = 10
_MAX_MESSAGE_CHARS = 300
_MAX_ABOUT_CHARS = 1000
_MAX_SUMMARY_CHARS = 160

PARAMETERS = "parameters"
"""`server.function#parameters` is the whole signature, with the function's full description."""

Mistakes = dict[str, Sequence[Any]]
"""Sentences, each with the place in the arguments that it is about."""


@dataclass(frozen=True, slots=True)
class Mistaken:
    """A call whose arguments do not fit the schema of its function: the `errors` of jsonschema_rs, what was `given`,
    the `names` of the parameters, and whether a value `fits` one."""

    function: Function
    errors: Iterable[Any]
    given: Mapping[str, Any]
    names: Collection[str]
    fits: Callable[[str, Any], bool]


class FailedRun(Protocol):
    """A run whose program has failed, and what is known of names in it."""

    @property
    def program(self) -> Program: ...

    @property
    def executor(self) -> str:
        """The one that ran it."""
        ...

    @property
    def names(self) -> ProgramNames: ...

    def members(self, server: str) -> Sequence[str] | None:
        """The names in a module; `None` if the program cannot import it."""
        ...

    def near(self, server: str, name: str) -> str:
        """Why a server does not have this function, or similar names; "" if nothing is known."""
        ...

    def absent(self, server: str) -> tuple[str, list[str]]:
        """For a server that cannot be used: why it is broken, if it is, and similar names."""
        ...

    def hint(self, error: Failure) -> str | None:
        """What an answer looked like, if the error may come from taking it for something else."""
        ...


class Answers:
    """What the calls of a run answered, to explain mistakes about it. Nothing is kept here."""

    def add(self, function: str, value: Any, size: int) -> None:
        """Keep an answer of so many bytes."""

    def hint(self, error: Failure) -> str | None:
        """What an answer looked like, if an error may come from taking it for something else."""
        return None

    def note(self, value: Any) -> str | None:
        """A note on the value of a run that is an unread answer."""
        return None

    def looped(self, arguments: Iterable[Any]) -> str:
        """A hint for a call that failed because of a loop over an answer."""
        return ""


class FunctionTexts:
    """Functions, and mistakes about them, as an agent reads them. A plugin gives an heir as the service `TEXTS`.

    `language` is that of programs, or "json" for calls without code. `definitions` look up what schemas refer to.
    `seen` is what was observed of a function's results, if they say more than its document.
    """

    def imported(self, module: str, name: str, language: str = PYTHON) -> str:
        """The line that imports a function, or its whole module where `name` is ""; "" if there is none."""
        if language == JSON:
            return ""
        if is_script(language):
            return f'import * as {module} from "{module}";'
        return f"from {module} import {name}" if name else f"import {module}"

    def signature(self, function: Function, definitions: Definitions, language: str = PYTHON, seen: Any = None) -> str:
        """The function with its parameters, those that it requires first."""
        reader = Reader(definitions)
        properties, required = declared(function, reader)
        written = []
        for name in parameter_names(function, definitions):
            types = " | ".join(kinds(reader.resolve(properties[name])[1])) or "any"
            written.append(f"{name}{'' if name in required else '?'}: {types}")
        return f"{function.qualified}({', '.join(written)})"

    def card(self, function: Function, definitions: Definitions, language: str = PYTHON, seen: Any = None) -> str:
        """All that is needed to call the function."""
        about = dict.fromkeys(clean(text, _MAX_ABOUT_CHARS) for text in (function.summary, function.description))
        imported = self.imported(function.server, function.name, language)
        return "\n".join(filter(None, [imported, self.signature(function, definitions, language), *about]))

    def part(self, function: Function, name: str, language: str = PYTHON) -> dict[str, str]:
        """One of the types that a card names, in full (`{"text"}`), or `{"error"}` if there is none of this name."""
        return {"error": f"{function.qualified} has no class {name[:100]!r}"}

    async def beside(self, function: Function, asker: Program) -> str:
        """What else is known of a function, as comments at the end of its card: what gives what it needs, and what
        plugins note. `asker` is a program of whoever asks, which must be able to call what is named."""
        return ""

    def summary(self, function: Function) -> str:
        """What a function does, in a line."""
        return clean(function.summary or function.description, _MAX_SUMMARY_CHARS)

    def gives(self, function: Function) -> str:
        """What it answers, in a few words; "" if nothing is known."""
        return ""

    def server(self, module: str, about: str, names: Sequence[str], asker: Program) -> str:
        """A server: what it says of itself, and the names of its functions that whoever asks may call."""
        return f"{module}: {clean(about, _MAX_ABOUT_CHARS)}\n{len(names)} functions: {some(names)}"

    def stub(
        self,
        functions: Mapping[str, Function],
        definitions: Definitions,
        language: str = PYTHON,
        seen: Callable[[Function], Any] = lambda function: None,
    ) -> str:
        """The text of a `.pyi` or `.d.ts` file that declares functions by the names that programs call them by."""
        return ("" if is_script(language) else "from typing import Any\n") + anything(functions, language)

    def mistakes(self, wrong: Mistaken, definitions: Definitions, language: str = PYTHON) -> Mistakes:
        """What is wrong with arguments. Empty if nothing can be said."""
        told: Mistakes = {}
        for error in wrong.errors:
            path = "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in error.instance_path).lstrip(".")
            said = visible(f"argument {path}: {error.message}" if path else str(error.message))
            told[said[:_MAX_MESSAGE_CHARS]] = [*error.instance_path]
            if len(told) == _MAX_MISTAKES:
                break
        return told

    def advice(self, wrong: Mistaken) -> Sequence[str]:
        """How the operator can have arguments accepted that the document wrongly rejects."""
        return ()

    def correct(
        self,
        function: Function,
        definitions: Definitions,
        places: Sequence[Sequence[Any]],
        language: str = PYTHON,
    ) -> str:
        """What the arguments at these places should be: a hint."""
        return f"The right signature:\n{self.signature(function, definitions, language)}"

    def refused(
        self, function: Function, error: DoorwardError, definitions: Definitions, language: str = PYTHON
    ) -> str:
        """What the argument should be that an API has refused; "" if that is not known."""
        return ""

    def unlike(self, function: Function, value: Any, definitions: Definitions) -> str:
        """A sentence about an answer of another type than the function declares; "" if it is of that."""
        return ""

    def hint(self, error: Failure, run: FailedRun) -> str | None:
        """What to do about an error of a program that says nothing of that itself."""
        return None

    def idle(self, patterns: Sequence[str], principal: str) -> Sequence[str]:
        """Those of the patterns that narrow a run which fit nothing that a principal may call: a note says so."""
        return ()

    def near(self, likely: Sequence[str], name: str, server: str, compiled: float) -> str:
        """A hint with the functions that are `likely` meant by a name that a server has not, which was `compiled` at a
        second since the epoch; 0: never. "" if there is nothing to say."""
        return f"Near: {', '.join(likely)}." if likely else ""

    def no_module(self, name: str, run: FailedRun) -> str:
        """What to do about a module that a program asked for, and that there is not; "" if nothing is known."""
        return ""

    def no_executor(self, begun: str = "", *, session: bool = False, language: str = PYTHON, module: str = "") -> str:
        """What to do about a program that no executor could run; "" if nothing is known. `begun` is the executor that
        has begun it and cannot go on; `session` says that the program belongs to a session there; `module` is one that
        it wants to import."""
        return ""

    def answers(self) -> Answers:
        """What keeps the answers of one run."""
        return Answers()


TEXTS = Service[FunctionTexts]("texts of functions")
"""Without one, they are plain."""


def anything(names: Iterable[str], language: str) -> str:
    """Declarations of functions that take and give anything."""
    if is_script(language):
        return "".join(f"export function {name}(...args: any[]): Promise<any>;\n" for name in names)
    return "".join(f"def {name}(*args: Any, **kwargs: Any) -> Any: ...\n" for name in names)
