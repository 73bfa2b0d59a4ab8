"""What a model is told of a function when servers are compiled, and what it would add to its documentation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable


@dataclass(frozen=True, slots=True)
class Documentation:
    """All that a model is told of a function: what its document says, and nothing of results or configuration.

    `name` is the function's own, without its server's. `text` has its signature, its types and its description, as
    agents read them. `about` is what the API says of itself."""

    name: str
    text: str
    about: str = ""


@dataclass(frozen=True, slots=True)
class Enhancement:
    """What a model would add to a function's documentation. It is checked: whatever is no clean text of a
    bounded size, or does not fit the function's schema, is left out.

    `notes` are about parameters, by their names. `examples` are the arguments of calls. `questions` are what somebody
    may ask to whom this function is the answer. `probe` are the arguments of a call that finds something in any account
    and changes nothing. `cost` is what the answer cost in US dollars, `None` if that is not known. `failure` says why
    an answer that came, and cost something, is of no use at all."""

    summary: str = ""
    description: str = ""
    notes: Mapping[str, str] = field(default_factory=dict)
    examples: Sequence[Mapping[str, Any]] = ()
    questions: Sequence[str] = ()
    probe: Mapping[str, Any] | None = None
    model: str = ""
    cost: float | None = None
    failure: str = ""


@runtime_checkable
class Enhances(Protocol):
    """A source that asks a model what it would add to the documentation of a function of another server, for
    `doorward compile --enhance`. The answer is checked, bounded and stored; where this raises, the function is asked
    about again in another run. Raises: ServerError; ConfigError if to ask for the next function is useless, too."""

    async def enhance(self, documentation: Documentation) -> Enhancement: ...
