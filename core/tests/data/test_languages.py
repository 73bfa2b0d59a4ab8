"""The names of languages."""

from __future__ import annotations

from doorward.data.languages import named, of_file


def test_the_names_of_languages() -> None:
    """Short names mean the same; unknown words stay; a file says its language by its end."""
    assert [named(word) for word in ("TS", "js ", "py", "ruby", "")] == [
        "typescript",
        "javascript",
        "python",
        "ruby",
        "",
    ]
    assert [of_file(name) for name in ("a.ts", "b/c.MTS", "d.js", "e.mjs", "f.py", "g.tsx", "-", "ts")] == [
        *("typescript", "typescript", "javascript", "javascript", "python", "", "", ""),
    ]  # fmt: skip
