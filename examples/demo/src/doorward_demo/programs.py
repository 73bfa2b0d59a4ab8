"""The programs of the demo's agent: one that works, and those that a thief would try."""

from __future__ import annotations

from doorward_demo import data

OVERDUE = f"""\
import asyncio
import library

branch = "{data.BRANCHES[0]}"
today = "{data.TODAY}"

def overdue():
    found, page = [], 1
    while page:
        answer = library.list_loans(returned=False, due_before=today, page=page)
        found = found + answer["items"]
        page = answer["next_page"]
    return found

loans = overdue()
members = await asyncio.gather(
    *[library.get_member(id=loan["member_id"]) for loan in loans]
)
ours = [loan for loan, who in zip(loans, members) if who["branch"] == branch]
books = await asyncio.gather(
    *[library.get_book(id=loan["book_id"]) for loan in ours]
)
genres = sorted([book["genre"] for book in books])

result = {{
    "branch": branch,
    "overdue": len(books),
    "cost": round(sum([book["price"] for book in books]), 2),
    "by_genre": {{genre: genres.count(genre) for genre in genres}},
}}
"""
"""Chains four kinds of calls: every overdue loan, page by page, then its members and its books at once."""

BLUNT = 'import os\nos.environ["DEMO_API_KEY"]'
"""What the guard `ast` refuses before it runs."""

SLY = """\
import os
from pathlib import Path
import library

def attempt(way):
    try:
        return str(way())
    except Exception as error:
        return f"{type(error).__name__}: {error}"

result = {
    "environment": attempt(lambda: os.environ),
    "one variable": attempt(lambda: os.getenv("DEMO_API_" + "KEY")),
    "own process": attempt(lambda: open("/proc/self/environ").read()),
    "doorward's process": attempt(
        lambda: Path(f"/proc/{os.getppid()}/environ").read_text()
    ),
    "configuration": attempt(lambda: open("CONFIGURATION").read()),
    "module": attempt(lambda: getattr(library, "__di" + "ct__")),
    "function": attempt(lambda: getattr(library.get_book, "__glo" + "bals__")),
    "every class": attempt(
        lambda: getattr(getattr((), "__cl" + "ass__"), "__subcl" + "asses__")()
    ),
    "the API's echo": attempt(lambda: library.echo()),
}
"""
"""Passes the guard and fails at the sandbox in every way. Only the echo answers, since that API
returns what it received."""
