"""The source `sql`: tables and views of a database as functions, and queries that are checked; nothing that writes."""

from doorward_sql.source import SQL

__all__ = ["SQL"]
