"""The records of the lending library, and the operations on them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import date, timedelta
from typing import Any

from doorward_demo import data

Record = dict[str, Any]

FIELDS: Mapping[str, Mapping[str, type]] = {
    "books": {"title": str, "author": str, "genre": str, "year": int, "price": float, "copies": int},
    "members": {"name": str, "email": str, "branch": str},
    "loans": {"book_id": int, "member_id": int, "due": str, "returned": bool},
}
REQUIRED = {"books": {"title", "author", "genre"}, "members": {"name", "branch"}, "loans": {"book_id", "member_id"}}
DEFAULTS: Mapping[str, Record] = {
    "books": {"year": data.TODAY.year, "price": 20.0, "copies": 1},
    "members": {"email": "", "joined": str(data.TODAY)},
    "loans": {"due": str(data.TODAY + timedelta(days=21)), "returned": False},
}


class Problem(Exception):
    """An error answer: RFC 9457 problem+json."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.status, self.detail = status, detail


class Library:
    """The records, and the operations on them."""

    def __init__(self) -> None:
        self.records = {"books": data.books(), "members": data.members(), "loans": data.loans()}
        self._made: dict[str, Record] = {}

    def find(self, kind: str, query: Mapping[str, str]) -> Record:
        """A page of the records that match the query."""
        page, size = _number(query, "page", 1, 10_000), _number(query, "per_page", 20, 50)
        filters = {k: v for k, v in query.items() if k not in ("page", "per_page")}
        found = [r for r in self.records[kind].values() if all(self._fits(kind, r, k, v) for k, v in filters.items())]
        more = page * size < len(found)
        items = found[(page - 1) * size : page * size]
        return {"items": items, "total": len(found), "page": page, "next_page": page + 1 if more else None}

    def _fits(self, kind: str, record: Record, key: str, value: str) -> bool:
        match kind, key:
            case "books", "q":
                return value.lower() in f"{record['title']} {record['author']}".lower()
            case "books", "available":
                return (self.free(record) > 0) is (value == "true")
            case "loans", "due_before":
                return str(record["due"]) < value
            case _ if key in FIELDS[kind]:
                return json.dumps(record[key]).strip('"').lower() == value.lower()
        raise Problem(400, f"{kind} cannot be filtered by {key!r}")

    def free(self, book: Record) -> int:
        """The copies that are not on loan; the initial data may have lent out more than exist."""
        out = sum(
            1 for loan in self.records["loans"].values() if loan["book_id"] == book["id"] and not loan["returned"]
        )
        return int(book["copies"]) - out

    def get(self, kind: str, id: int) -> Record:
        if id not in self.records[kind]:
            raise Problem(404, f"there is no {kind[:-1]} {id}")
        return self.records[kind][id]

    def create(self, kind: str, fields: Record, again: str) -> Record:
        """A new record; the same one for the same `Idempotency-Key`."""
        if again and again in self._made:
            return self._made[again]
        if lacking := REQUIRED[kind] - fields.keys():
            raise Problem(422, f"missing: {', '.join(sorted(lacking))}")
        if kind == "loans":
            self.get("members", fields["member_id"])
            if self.free(self.get("books", fields["book_id"])) < 1:
                raise Problem(409, "every copy of this book is out")
        id = max(self.records[kind], default=0) + 1
        self.records[kind][id] = record = {"id": id, **DEFAULTS[kind], **fields}
        if again:
            self._made[again] = record
        return record


def _number(query: Mapping[str, str], key: str, default: int, most: int) -> int:
    text = query.get(key, str(default))
    if not text.isdecimal() or not 1 <= int(text) <= most:
        raise Problem(400, f"{key} must be a number from 1 to {most}")
    return int(text)


def checked(body: Any, kind: str) -> Record:
    """The body, if it is an object with the fields of this kind. Raises: Problem."""
    if not isinstance(body, dict):
        raise Problem(422, "the body must be an object")
    for key, value in body.items():
        wanted = FIELDS[kind].get(key)
        if wanted is None or not (type(value) is wanted or (wanted is float and type(value) is int)):
            raise Problem(422, f"{key}: " + (f"must be {wanted.__name__}" if wanted else "is not known"))
        if key == "due":
            try:
                date.fromisoformat(str(value))
            except ValueError:
                raise Problem(422, "due: must be a date") from None
    return body
