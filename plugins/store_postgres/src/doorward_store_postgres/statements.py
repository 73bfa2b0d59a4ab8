"""The statements of a store, as PostgreSQL takes them. They name the schema `doorward`; a store of another schema puts
that in its place (`in_schema`).

Names and keys are stored as UTF-8 bytes: these have the order of code points, and may hold any character. Times are
seconds since the epoch by the clock of the database, unless a test turns one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from doorward.engines import Named

LAYOUT = 1
"""The version of the tables that this code makes."""

OLDEST = 1
"""The oldest version of this code that can work with these tables: its replicas go on while newer ones start."""

MIGRATIONS: Sequence[str] = (
    """
    CREATE FUNCTION doorward.clock(turned float8) RETURNS float8 LANGUAGE sql VOLATILE
      AS 'SELECT coalesce(turned, extract(epoch FROM clock_timestamp())::float8)';
    CREATE FUNCTION doorward.lives(expires float8, turned float8) RETURNS bool LANGUAGE sql VOLATILE
      AS 'SELECT expires IS NULL OR expires > doorward.clock(turned)';
    CREATE SEQUENCE doorward.versions;
    CREATE TABLE doorward.records (
      kind bytea, key bytea, value bytea NOT NULL, version bigint NOT NULL, expires float8, PRIMARY KEY (kind, key)
    );
    CREATE INDEX records_expire ON doorward.records (expires) WHERE expires IS NOT NULL;
    CREATE TABLE doorward.entries (log bytea, position bigint, content bytea NOT NULL, PRIMARY KEY (log, position));
    CREATE TABLE doorward.blobs (
      name bytea, part int, content bytea NOT NULL, size bigint NOT NULL, expires float8, PRIMARY KEY (name, part)
    );
    CREATE INDEX blobs_expire ON doorward.blobs (expires) WHERE expires IS NOT NULL;
    CREATE TABLE doorward.leases (name bytea PRIMARY KEY, token bigint NOT NULL, until float8 NOT NULL);
    CREATE TABLE doorward.topics (name bytea PRIMARY KEY, value bigint NOT NULL);
    """,
)
"""What makes the tables of version n of those of version n-1."""

MAKE_LAYOUT = """
CREATE SCHEMA IF NOT EXISTS doorward;
CREATE TABLE IF NOT EXISTS doorward.layout (version int NOT NULL, oldest int NOT NULL);
"""
READ_LAYOUT = "SELECT version, oldest FROM doorward.layout"
SET_LAYOUT = "WITH old AS (DELETE FROM doorward.layout) INSERT INTO doorward.layout VALUES (%(version)s, %(oldest)s)"

# A commit. The locks of all that it names, always in the same order, are taken before its version: so of two commits
# that name the same, the later one has the higher version, and none of them waits for the other in a circle.
LOCK = "SELECT pg_advisory_xact_lock(key) FROM (SELECT unnest(%(keys)s::bigint[]) AS key ORDER BY 1) AS sorted"
WAIT = "SET LOCAL lock_timeout = '{}ms'"
SYNC = "SET LOCAL synchronous_commit = on"
NEXT = "SELECT nextval('doorward.versions')"
NUMBERS = "SELECT currval('doorward.versions'), pg_current_xact_id()::text"
STATUS = "SELECT pg_xact_status(%(transaction)s::xid8)"
HELD = "SELECT 1 FROM doorward.leases WHERE name = %(name)s AND token = %(token)s AND until > 0 FOR SHARE"
VERSION = """
SELECT version FROM doorward.records
WHERE kind = %(kind)s AND key = %(key)s AND doorward.lives(expires, %(now)s)
"""
PUT = """
INSERT INTO doorward.records
VALUES (%(kind)s, %(key)s, %(value)s, currval('doorward.versions'), doorward.clock(%(now)s) + %(ttl)s::float8)
ON CONFLICT (kind, key) DO UPDATE SET value = excluded.value, version = excluded.version, expires = excluded.expires
"""
DELETE = "DELETE FROM doorward.records WHERE kind = %(kind)s AND key = %(key)s"
END = "SELECT coalesce(max(position) + 1, 0) FROM doorward.entries WHERE log = %(log)s"
APPEND = """
INSERT INTO doorward.entries
SELECT %(log)s, %(at)s::bigint + number - 1, entry
FROM unnest(%(entries)s::bytea[]) WITH ORDINALITY AS new(entry, number)
WHERE %(at)s::bigint = (SELECT coalesce(max(position) + 1, 0) FROM doorward.entries WHERE log = %(log)s)
"""
FORGET = "DELETE FROM doorward.entries WHERE log = %(log)s"
PUT_BLOB = """
INSERT INTO doorward.blobs
SELECT %(name)s, number - 1, part, %(size)s::bigint, doorward.clock(%(now)s) + %(ttl)s::float8
FROM unnest(%(parts)s::bytea[]) WITH ORDINALITY AS new(part, number)
"""
DELETE_BLOB = "DELETE FROM doorward.blobs WHERE name = %(name)s"
NOTIFY = """
INSERT INTO doorward.topics VALUES (%(name)s, currval('doorward.versions'))
ON CONFLICT (name) DO UPDATE SET value = excluded.value
"""
TELL = "SELECT pg_notify(%(channel)s, %(topic)s)"
SWEEP = (
    """
    DELETE FROM doorward.records WHERE ctid IN
      (SELECT ctid FROM doorward.records WHERE expires <= doorward.clock(%(now)s) LIMIT 10000 FOR UPDATE SKIP LOCKED)
    """,
    """
    DELETE FROM doorward.blobs WHERE ctid IN
      (SELECT ctid FROM doorward.blobs WHERE expires <= doorward.clock(%(now)s) LIMIT 10000 FOR UPDATE SKIP LOCKED)
    """,
)

RECORD = """
SELECT key, value, version, expires FROM doorward.records
WHERE kind = %(kind)s AND key = %(key)s AND doorward.lives(expires, %(now)s)
"""
SCAN = """
SELECT key, value, version, expires FROM doorward.records
WHERE kind = %(kind)s AND key >= %(prefix)s AND (%(after)s::bytea IS NULL OR key > %(after)s)
  AND substring(key FOR length(%(prefix)s::bytea)) = %(prefix)s AND doorward.lives(expires, %(now)s)
ORDER BY key LIMIT %(limit)s
"""
READ = """
SELECT content FROM doorward.entries WHERE log = %(log)s AND position >= %(start)s ORDER BY position LIMIT %(limit)s
"""
BLOB = """
SELECT size, expires, CASE WHEN part >= %(first)s THEN content END FROM doorward.blobs
WHERE name = %(name)s AND doorward.lives(expires, %(now)s)
  AND (part = 0 OR part BETWEEN %(first)s AND %(last)s)
ORDER BY part
"""
NAMED: Mapping[Named, str] = {
    "tables": "SELECT kind AS named FROM doorward.records WHERE doorward.lives(expires, %(now)s)",
    "logs": "SELECT log AS named FROM doorward.entries",
    "blobs": "SELECT name AS named FROM doorward.blobs WHERE doorward.lives(expires, %(now)s)",
}
NAMES = """
SELECT DISTINCT named FROM ({}) AS held WHERE %(after)s::bytea IS NULL OR named > %(after)s
ORDER BY named LIMIT %(limit)s
"""
ACQUIRE = """
INSERT INTO doorward.leases AS held
VALUES (%(name)s, nextval('doorward.versions'), doorward.clock(%(now)s) + %(seconds)s)
ON CONFLICT (name) DO UPDATE SET token = greatest(excluded.token, held.token + 1), until = excluded.until
WHERE held.until <= doorward.clock(%(now)s) RETURNING token
"""
RENEW = """
UPDATE doorward.leases SET until = doorward.clock(%(now)s) + %(seconds)s
WHERE name = %(name)s AND token = %(token)s AND until > 0 RETURNING token
"""
RELEASE = "UPDATE doorward.leases SET until = 0 WHERE name = %(name)s AND token = %(token)s"
TOPIC = "SELECT value FROM doorward.topics WHERE name = %(name)s"


def in_schema(schema: str, statement: str) -> bytes:
    """A statement for the tables of a schema, whose name is a plain word."""
    return statement.replace("doorward.", f"{schema}.").replace("EXISTS doorward;", f"EXISTS {schema};").encode()
