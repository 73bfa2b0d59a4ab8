"""The model of `[triggers.NAME]`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from doorward import Secret, Settings
from pydantic import Field, PositiveInt, field_validator, model_validator

from doorward_triggers.ticks import check_schedule, check_zone


class TriggerSettings(Settings):
    """`[triggers.NAME]`: what starts a program without a model, and for whom."""

    principal: str = Field(description="Whose run it is: a principal with a table in [principals], or local")
    program: str = Field("", description="The saved program (`doorward save`), or the id of a kept one, that it runs")
    script: Path | None = Field(
        None, description="In its place: a program in a file", json_schema_extra={"format": "path"}
    )
    params: dict[str, Any] = Field({}, description="Values for parameters; a delivery never replaces them")
    schedule: str = Field("", description='A cron expression of five fields: "0 7 * * mon-fri"')
    zone: str = Field("UTC", description="The time zone of the schedule, as in the IANA database: Europe/Berlin")
    catch_up: Literal["none", "last"] = Field(
        "none", description="Of the ticks that passed while nothing served: run none of them, or the last one"
    )
    webhook: str = Field("", description="In place of a schedule: the path below /triggers/ that takes deliveries")
    secret: Secret | None = Field(None, description="The key of the deliveries' signatures: a reference, ${NAME}")
    body_schema: dict[str, Any] | None = Field(
        None, alias="schema", description="The JSON Schema of the body of a delivery, an object"
    )
    body: dict[str, str] = Field(
        {}, description="Parameters and where they stand in the body, as JSON pointers; else its members are they"
    )
    tolerance: PositiveInt = Field(300, le=3600, description="Seconds that the time of a delivery may differ from ours")
    queue: Annotated[int, Field(ge=1, le=1000)] = Field(20, description="Ticks or deliveries that wait at most")

    @field_validator("schedule")
    @classmethod
    def _is_schedule(cls, value: str) -> str:
        return value and check_schedule(value)

    @field_validator("zone")
    @classmethod
    def _is_zone(cls, value: str) -> str:
        return check_zone(value)

    @field_validator("webhook")
    @classmethod
    def _is_path(cls, value: str) -> str:
        import re

        if value and not re.fullmatch(r"[a-z0-9_-]+(/[a-z0-9_-]+)*", value):
            raise ValueError("a path has small letters, digits, - and _, with / between its parts: payments/paid")
        return value

    @field_validator("secret")
    @classmethod
    def _is_reference(cls, value: Secret | None) -> Secret | None:
        if value is not None and value.literal:
            raise ValueError("a secret is given by reference, such as ${PAYMENTS_SECRET}")
        return value

    @field_validator("body")
    @classmethod
    def _are_pointers(cls, value: dict[str, str]) -> dict[str, str]:
        if wrong := next((pointer for pointer in value.values() if not pointer.startswith("/")), None):
            raise ValueError(f"{wrong!r} is no JSON pointer, such as /data/id")
        return value

    @field_validator("body_schema")
    @classmethod
    def _is_schema(cls, value: dict[str, Any] | None) -> dict[str, Any] | None:
        from doorward_triggers.deliveries import validator

        if value is not None:
            validator(value)
        return value

    @model_validator(mode="after")
    def _is_whole(self) -> TriggerSettings:
        if bool(self.program) == (self.script is not None):
            raise ValueError("give `program` or `script`, and not both")
        if bool(self.schedule) == bool(self.webhook):
            raise ValueError("give `schedule` or `webhook`, and not both")
        if self.webhook and (self.secret is None or self.body_schema is None):
            raise ValueError("a webhook needs `secret` and `schema`")
        if not self.webhook and (self.secret or self.body_schema or self.body):
            raise ValueError("`secret`, `schema` and `body` belong to a webhook")
        return self

    @property
    def when(self) -> str:
        """What starts it, in words."""
        return f"{self.schedule} {self.zone}" if self.schedule else f"POST /triggers/{self.webhook}"


Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]{0,63}$")]

Table = Annotated[dict[Name, TriggerSettings], Field(description="What starts programs without a model")]
"""The type of `[triggers]`."""
