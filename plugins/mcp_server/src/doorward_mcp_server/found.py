"""The answer of a search as an agent reads it: a line for each function."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any


def found_lines(found: Mapping[str, Any]) -> Iterator[str]:
    """`github.list_issues -> list[Issue]: List issues (read-only; needs repo: from list_repos)`."""
    yield from map(_hit, found["functions"])
    if not found["functions"]:
        near = f" Near: {', '.join(found['near'])}." if found.get("near") else ""
        yield f"Nothing found.{near} Try other words."
    elif found.get("well") == 0:
        yield "None of these fits well. Try other words."
    for program in found.get("programs", ()):
        again = (
            f"run_cached_code({json.dumps(program['cache_id'])}, {json.dumps(program['params'], ensure_ascii=False)})"
        )
        yield f"program {again}: {program['summary']}"
    if "cursor" in found:
        well = f"{found['well']} fit well, " if found.get("well") else ""
        yield f"{well}{found['total']} in all; more with cursor={found['cursor']!r}"
    if "compiling" in found:
        yield f"{found['compiling']} servers are still being compiled: search again later for what they have."


def _hit(hit: Mapping[str, Any]) -> str:
    gives = f" -> {hit['gives']}" if "gives" in hit else ""
    facts = [text for key, text in _FACTS if hit.get(key)]
    if needs := hit.get("needs"):
        facts.append("needs " + ", ".join(f"{name}: from {' or '.join(given)}" for name, given in needs.items()))
    if "answers" in hit:
        facts.append(f"for {', '.join(map(str, hit['answers']))}")
    if "matched" in hit:
        facts.append(f"matched: {', '.join(hit['matched'])}")
    return f"{hit['function']}{gives}: {hit['summary']}" + (f" ({'; '.join(facts)})" if facts else "")


_FACTS = (
    ("read_only", "read-only"),
    ("destructive", "destructive"),
    ("deprecated", "deprecated"),
    ("confirm", "asks a person first"),
)
