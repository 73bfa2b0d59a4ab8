"""The first books of a genre."""

import library

genre = "crime"
most = 5

page = library.list_books(genre=genre, per_page=most)
result = [{"title": book["title"], "author": book["author"]} for book in page["items"]]
