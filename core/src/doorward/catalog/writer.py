"""Writing a server's compile into the catalog: without secrets, and with what is derived of it."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any

from doorward.catalog.function_codec import Report, as_json, scrubbed
from doorward.catalog.store import CatalogStore, Contents, Row
from doorward.data.clean_text import clean_compile
from doorward.host.logs import log
from doorward.model.errors import PluginError
from doorward.model.functions import Compiled, Function
from doorward.model.names import Named

if TYPE_CHECKING:
    from doorward.catalog.notes import Notes
    from doorward.model.integrity import Integrity

Derive = Callable[[Sequence[Function], Callable[[str], Any], Callable[[str], str]], bytes]
"""Makes the bytes of a server's functions, of what reads the definitions that they refer to, and of what removes
credentials from a text: definitions have not passed it yet. Called in a thread."""


class Derived:
    """What is derived, by name."""

    def __init__(self) -> None:
        self._makers: dict[str, Derive] = {}

    def add(self, name: str, derive: Derive) -> None:
        """Derive this of every server that is compiled from now on. Raises: PluginError if the name is taken."""
        if name in self._makers:
            raise PluginError(f"two plugins derive {name!r} of functions", hint="Use one of the two plugins.")
        self._makers[name] = derive

    def of(
        self, functions: Sequence[Function], definitions: Callable[[str], Any], scrub: Callable[[str], str]
    ) -> Mapping[str, bytes]:
        """All that is derived. What cannot be is left out: whoever reads it does without, or derives it anew."""
        found = {}
        for name, derive in self._makers.items():
            try:
                found[name] = derive(functions, definitions, scrub)
            except Exception as error:  # a defect of a plugin must not stop a compile
                log.error("not_derived", what=name, why=f"{type(error).__name__}: {error}")
        return found


@contextmanager
def gc_paused() -> Iterator[None]:
    """Pause garbage collection: it would visit each of a million new objects again and again."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


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
