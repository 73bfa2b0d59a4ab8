"""The tables of a store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from doorward_store_sqlite.sqlite_layout import SqliteLayout

if TYPE_CHECKING:
    from sqlite_utils import Database


def _tables(db: Database) -> None:
    """`numbers` has the last version, which is also that of tokens; `topics` the version of the last notice of each."""
    db.table("numbers").create({"name": str, "value": int}, pk="name")
    db.table("topics").create({"name": str, "value": int}, pk="name")
    records = db.table("records").create(
        {"kind": str, "key": str, "value": bytes, "version": int, "expires": float}, pk=("kind", "key")
    )
    records.create_index(["expires"])
    db.table("entries").create({"log": str, "position": int, "content": bytes}, pk=("log", "position"))
    blobs = db.table("blobs").create(
        {"name": str, "part": int, "content": bytes, "size": int, "expires": float}, pk=("name", "part")
    )
    blobs.create_index(["expires"])
    db.table("leases").create({"name": str, "token": int, "until": float}, pk="name")


_MADE = """CREATE TABLE "numbers" (
   "name" TEXT PRIMARY KEY,
   "value" INTEGER
);
CREATE TABLE "topics" (
   "name" TEXT PRIMARY KEY,
   "value" INTEGER
);
CREATE TABLE "records" (
   "kind" TEXT,
   "key" TEXT,
   "value" BLOB,
   "version" INTEGER,
   "expires" REAL,
   PRIMARY KEY ("kind", "key")
);
CREATE INDEX "idx_records_expires"
    ON "records" ("expires");
CREATE TABLE "entries" (
   "log" TEXT,
   "position" INTEGER,
   "content" BLOB,
   PRIMARY KEY ("log", "position")
);
CREATE TABLE "blobs" (
   "name" TEXT,
   "part" INTEGER,
   "content" BLOB,
   "size" INTEGER,
   "expires" REAL,
   PRIMARY KEY ("name", "part")
);
CREATE INDEX "idx_blobs_expires"
    ON "blobs" ("expires");
CREATE TABLE "leases" (
   "name" TEXT PRIMARY KEY,
   "token" INTEGER,
   "until" REAL
)"""

LAYOUT = SqliteLayout(
    (_tables,),
    "SELECT count(*) FROM (SELECT 1 FROM numbers LIMIT 1)",
    application=0x446F6F53,
    made=_MADE,
    irreplaceable=True,
)
"""The application id is "DooS" in ASCII."""
