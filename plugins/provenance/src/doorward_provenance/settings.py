"""The model of `[provenance]`."""

from __future__ import annotations

from typing import Annotated, Literal

from doorward import Settings
from pydantic import Field, PositiveFloat

from doorward_provenance.declassifying import Kind

Then = Literal["confirm", "deny", "allow", "plan"]


class ProvenanceSettings(Settings):
    """`[provenance]`: whose words functions give, whom they reach, and what is decided where that meets."""

    untrusted: list[str] = Field(
        [], description='Functions whose answers strangers may have written, besides those found by kind: "mail.*"'
    )
    trusted: list[str] = Field([], description="Functions whose answers nobody else writes; they win over `untrusted`")
    private: list[str] = Field(
        [], description="Functions whose answers are not for everybody, besides those found by kind"
    )
    outward: list[str] = Field(
        [], description="Functions that reach other people or places, besides those found by their parameters"
    )
    inward: list[str] = Field([], description="Functions that reach nobody else; they win over `outward`")
    then: Then = Field(
        "confirm",
        description="What is decided of a call with an argument that came from an untrusted answer. `plan`: a program "
        "has to be planned, and a person approves of all that it writes at once",
    )
    mixed: Then = Field(
        "confirm",
        description="What is decided of a call that reaches others, in a program that was sent after both private and "
        "untrusted answers had been shown",
    )
    tainted: list[str] = Field(
        [], description='Principals whose programs never count as their user\'s: they read elsewhere, too. "@bots"'
    )
    handles: bool = Field(
        False,
        description="Texts that others may have written leave a run as handles, which programs read and models do not",
    )
    declassify: list[Kind] = Field(
        [],
        description="What loses the label of an untrusted text when a model makes it of that: values in the answer to "
        "the user's own program that its JSON Schema bounds so",
    )
    minutes: PositiveFloat = Field(720, description="How long it is remembered what a principal was shown")


Table = Annotated[ProvenanceSettings, Field(description="Where the arguments of calls came from")]
"""The type of `[provenance]`."""
