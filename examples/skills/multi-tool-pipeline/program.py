"""Overdue books by member, for one branch."""

import asyncio

import library

branch = "Harbour"
today = "2026-11-01"

loans = []
page = 1
while page:
    answer = library.list_loans(returned=False, due_before=today, page=page, per_page=50)
    loans = loans + answer["items"]
    page = answer["next_page"]

members = await asyncio.gather(*[library.get_member(id=n) for n in sorted({loan["member_id"] for loan in loans})])
here = {member["id"]: member["name"] for member in members if member["branch"] == branch}
mine = [loan for loan in loans if loan["member_id"] in here]
books = await asyncio.gather(*[library.get_book(id=n) for n in sorted({loan["book_id"] for loan in mine})])
titles = {book["id"]: book["title"] for book in books}

result = {}
for loan in mine:
    name = here[loan["member_id"]]
    result[name] = sorted([*result.get(name, []), titles[loan["book_id"]]])
