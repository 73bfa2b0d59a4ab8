"""The keys of `[servers.NAME]` with `source = "sql"`."""

from __future__ import annotations

from doorward import Secret, Settings
from pydantic import Field, PositiveFloat, PositiveInt


class SQLSettings(Settings):
    """Which database it is, and how much one call may read."""

    database: Secret = Field(
        description="sqlite:PATH, relative to the configuration file; or postgresql://USER:PASSWORD@HOST/NAME"
    )
    schemas: list[str] = Field(["public"], description="The schemas of PostgreSQL whose tables are functions")
    tables: list[str] = Field(["*"], description="Patterns of the tables and views that there are for agents at all")
    queries: bool = Field(True, description="Whether there is the function `query`, for SELECTs over several tables")
    functions: list[str] = Field([], description="Functions that queries may call besides the usual ones")
    rows: PositiveInt = Field(1000, description="The most rows that a call answers")
    timeout: PositiveFloat = Field(30.0, description="Seconds that the database may work on one call")
