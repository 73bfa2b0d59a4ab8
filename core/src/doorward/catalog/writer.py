"""Writing a server's compile into the catalog: without secrets, and with what is derived of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING

from doorward.catalog.function_codec import Report, as_json, scrubbed
from doorward.catalog.store import CatalogStore, Contents, Row
from doorward.data.clean_text import clean_compile
from doorward.host.garbage import gc_paused
from doorward.model.functions import Compiled
from doorward.model.names import Named

if TYPE_CHECKING:
    from doorward.catalog.derived import Derived
    from doorward.catalog.notes import Notes
    from doorward.model.integrity import Integrity


@gc_paused()
def write(
    to: CatalogStore,
    derived: Derived,
    notes: Notes,
    server: str,
    compiled: Compiled,
    *,
    fingerprint: str,
    settings: str,
    ms: float,
    left_out: Mapping[str, Sequence[str]],
    scrub: Callable[[str], str],
    integrity: Integrity | None = None,
) -> Report:
    """Replace everything of a server. Every text is cleaned, whatever its origin, and passes `scrub`: a document may
    contain the credentials it was fetched with."""
    compiled = clean_compile(compiled)
    report = Report(
        server, len(compiled.functions), [asdict(s) for s in compiled.skipped], list(compiled.warnings), ms,
        compiled.description, fingerprint, settings, time.time(), compiled.needing_auth,
        [asdict(s) for s in compiled.auth], {**left_out},
    )  # fmt: skip
    functions = [scrubbed(f, scrub) for f in compiled.functions]
    described = notes.with_results(f for f, _ in functions)
    contents = Contents(
        server,
        report=scrub(as_json(asdict(report))),
        derived=derived.of(described, compiled.definitions.get, scrub),
        functions=[(Row(server, f.name, record), f.id, f.read_only) for f, record in functions],
        definitions=[
            (name, scrub(as_json(s))) for name, s in {scrub(n): s for n, s in compiled.definitions.items()}.items()
        ],
    )
    replace = partial(to.replace, contents)
    if integrity is None:
        replace()
    else:
        texts = {("function", row.name): row.record for row, *_ in contents.functions}
        texts |= {("definition", name): text for name, text in contents.definitions}
        integrity.store(server, texts, [Named(f.name, f.id, f.route) for f, _ in functions], replace)
    return report
