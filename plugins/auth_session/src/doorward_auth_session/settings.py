"""The settings of `auth = { type = "session", … }`."""

from __future__ import annotations

from typing import Annotated, Literal

from doorward import Secret, Settings, Template
from pydantic import Field, StrictBool, StrictInt

URL = Annotated[
    str, Field(pattern=r"^(https?://[^\s/?#@\\]+([/?][^\s#]*)?|(/|/?[^\s/:#?@\\][^\s:#?@\\]*)(\?[^\s#]*)?)$")
]
"""An absolute URL without a user, or a path. A path that starts with `//` would be another host in disguise."""
TOKEN = r"^[!#$%&'*+.^_`|~0-9A-Za-z-]+$"  # noqa: S105
"""A header or cookie name (RFC 9110 section 5.6.2, RFC 6265 section 4.1.1)."""
Name = Annotated[str, Field(pattern=TOKEN)]


class SessionSettings(Settings):
    """`auth = { type = "session", login_url = "/login", username = "me", password = "${X}" }`"""

    login_url: URL = Field(
        description="Where the login is posted: a path below base_url (or /path at its host), or a whole URL"
    )
    username: Template | None = Field(
        None, description="Who logs in; scrubbed from outputs only where it comes from a ${…}"
    )
    password: Secret = Field(description="The password")
    content_type: Literal["json", "form"] = Field("json", description="How the login is written")
    username_field: str = Field("username", min_length=1, description="What the API calls the username")
    password_field: str = Field("password", min_length=1, description="What it calls the password")
    fields: dict[str, Template | StrictBool | StrictInt] = Field({}, description="More fields of the login")
    cookie_name: Name | None = Field(
        None, description="The cookie that is the session; without it, all that the login sets"
    )
    token_field: str = Field(
        "", description="Where the answer holds a token: a path with dots, or a JSON pointer (RFC 6901)"
    )
    token_header: Name = Field("Authorization", description="The header that carries the token")
    token_prefix: str = Field("Bearer ", pattern=r"^[\x20-\x7e]*$", description="What stands before the token there")
    expires_seconds: float = Field(
        3600, gt=0, description="Seconds that a session lasts at most; less if the answer says so"
    )
    expired: list[int] = Field(
        [401], min_length=1, description="The statuses by which the server says that there is no session"
    )
    csrf: bool = Field(False, description="Fetch a CSRF token before the login; each of the next three says so too")
    csrf_url: URL | None = Field(None, description="The page that has it; without it that of login_url")
    csrf_name: str = Field(
        "", description="What the form field, meta tag, JSON member, header or cookie is called that holds it"
    )
    csrf_header: Name | None = Field(
        None, description="The header that takes it back; without it the usual one for where it was found"
    )
    logout_url: URL | None = Field(None, description="What is asked at the end, so that no session is left over")
    logout_method: Literal["POST", "GET", "DELETE"] = Field("POST", description="How")

    @property
    def wants_csrf(self) -> bool:
        return bool(self.csrf or self.csrf_url or self.csrf_name or self.csrf_header)
