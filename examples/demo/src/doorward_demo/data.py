"""The library's data: the same books, members and loans in every process, so that the demo knows each right answer."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

TODAY = date(2026, 11, 1)
"""The fixed date of the library's data."""

BRANCHES = ("Harbour", "Hillside", "Market")
GENRES = ("crime", "poetry", "science", "history", "travel")
_ADJECTIVES = ("Quiet", "Last", "Hidden", "Northern", "Burning", "Paper", "Second", "Salt")
_NOUNS = ("Lighthouse", "Orchard", "Map", "Winter", "Doorkeeper", "River", "Letter")
_GIVEN = ("Ada", "Bruno", "Chidi", "Dana", "Elif", "Farid", "Greta", "Hana")
_FAMILY = ("Okafor", "Lindqvist", "Moreau")


def books() -> dict[int, dict[str, Any]]:
    """56 books, by id."""
    return {
        n: {
            "id": n,
            "title": f"The {_ADJECTIVES[n % 8]} {_NOUNS[n % 7]}",
            "author": f"{_GIVEN[n * 3 % 8]} {_FAMILY[n % 3]}",
            "genre": GENRES[n * 7 % 5],
            "year": 1950 + n * 11 % 75,
            "price": round(8 + n * 37 % 290 / 10, 2),
            "copies": 1 + n % 4,
        }
        for n in range(1, 57)
    }


def members() -> dict[int, dict[str, Any]]:
    """24 members, by id."""
    return {
        n: {
            "id": n,
            "name": f"{_GIVEN[n % 8]} {_FAMILY[n // 8 % 3]}",
            "email": f"{_GIVEN[n % 8]}.{_FAMILY[n // 8 % 3]}@example.org".lower(),
            "branch": BRANCHES[n * 5 % 3],
            "joined": str(TODAY - timedelta(days=90 + n * 97 % 2000)),
        }
        for n in range(1, 25)
    }


def loans() -> dict[int, dict[str, Any]]:
    """120 loans, by id: most have been returned; many of the others are overdue."""
    return {
        n: {
            "id": n,
            "book_id": 1 + n * 17 % 56,
            "member_id": 1 + n * 7 % 24,
            "due": str(TODAY + timedelta(days=21 - n * 13 % 80)),
            "returned": n * n % 5 < 2,
        }
        for n in range(1, 121)
    }


def missing(branch: str) -> dict[str, Any]:
    """What the demo's program should find out by the API, worked out from the data itself."""
    every_book, every_member = books(), members()
    late = [n for n in loans().values() if not n["returned"] and n["due"] < str(TODAY)]
    late = [n for n in late if every_member[n["member_id"]]["branch"] == branch]
    found = [every_book[n["book_id"]] for n in late]
    genres = sorted(book["genre"] for book in found)
    cost = round(sum(book["price"] for book in found), 2)
    return {
        "branch": branch,
        "overdue": len(late),
        "cost": cost,
        "by_genre": {genre: genres.count(genre) for genre in genres},
    }
