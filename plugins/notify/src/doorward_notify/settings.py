"""The model of `[notify.NAME]`."""

from __future__ import annotations

from typing import Annotated, Literal
from zoneinfo import ZoneInfo

from doorward import Secret, Settings
from doorward.values import is_loopback
from pydantic import Field, NonNegativeFloat, PositiveInt, field_validator, model_validator

_TIME = r"([01]\d|2[0-3]):[0-5]\d"


class MessengerSettings(Settings):
    """`[notify.NAME]`: where people are told that a call waits for their yes."""

    kind: Literal["webhook", "slack", "teams", "email"] = Field(description="What takes the messages")
    principals: list[str] = Field(["*"], description='Whose requests are told there: names, wildcards, "@GROUP"')
    after: NonNegativeFloat = Field(0.0, description="Seconds after which it is told what nobody has answered by then")
    quiet: str = Field("", pattern=rf"^({_TIME}-{_TIME})?$", description='Hours without messages: "22:00-07:00"')
    zone: str = Field("UTC", description="The time zone of these hours, as in the IANA database: Europe/Berlin")
    console: str = Field("", description="The URL of the console, for a link to the request")
    url: Secret | None = Field(None, description="Where a webhook, Slack or Teams takes messages: a reference, ${NAME}")
    secret: Secret | None = Field(
        None, description="The key of a webhook's signatures, in both directions; of Slack and Teams, that of theirs"
    )
    people: dict[str, str] = Field(
        {}, description="Who may answer in Slack or Teams: the principal of each of their user ids"
    )
    tolerance: PositiveInt = Field(300, le=3600, description="Seconds that the time of an answer may differ from ours")
    host: str = Field("", description="The mail server")
    port: PositiveInt = Field(587, le=65535, description="Its port")
    tls: Literal["starttls", "implicit", "none"] = Field("starttls", description="`none` on this machine alone")
    user: str = Field("", description="The name for the mail server, if it wants one")
    password: Secret | None = Field(None, description="And the password")
    sender: str = Field("", description="From whom mails are")
    to: list[str] = Field([], description="To whom they go")

    @field_validator("zone")
    @classmethod
    def _known(cls, zone: str) -> str:
        try:
            ZoneInfo(zone)
        except (KeyError, ValueError, OSError):
            raise ValueError(f"there is no time zone {zone[:60]!r}") from None
        return zone

    @model_validator(mode="after")
    def _whole(self) -> MessengerSettings:
        needed = {"webhook": ("url", "secret"), "email": ("host", "sender", "to")}.get(self.kind, ("url",))
        if missing := [key for key in needed if not getattr(self, key)]:
            raise ValueError(f"{self.kind} needs {' and '.join(missing)}")
        if bool(self.people) != (self.secret is not None) and self.kind in ("slack", "teams"):
            raise ValueError("secret and people go together: who may answer, and what proves that they did")
        if self.people and self.kind in ("webhook", "email"):
            raise ValueError("people is for slack and teams only")
        if bool(self.user) != bool(self.password):
            raise ValueError("user and password go together")
        if self.kind == "email" and self.tls == "none" and not is_loopback(self.host):
            raise ValueError("mails would go out in plain text: set tls")
        return self


Table = Annotated[dict[str, MessengerSettings], Field(description="Where people are asked for approvals, by name")]
