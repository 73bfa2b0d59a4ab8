"""Values and texts that come from others: read, written, cleaned, quoted, named; large ones beside the event loop."""

from __future__ import annotations

from doorward.data.clean_text import clean_text
from doorward.data.frozen import frozen
from doorward.data.headers import is_hidden_header, shown_headers
from doorward.data.json_reading import decoded, read_json
from doorward.data.json_values import values_in
from doorward.data.offload import aside, to_its_end, write_json
from doorward.data.quoting import in_a_line, quoted, status
from doorward.data.wording import first_sentence
from doorward.host.loopback import is_loopback
from doorward.model.calls import if_repeated
from doorward.model.decisions import effect
from doorward.model.names import is_plain, python_name, unique_names
from doorward.secrets.detection import found_tokens
from doorward.secrets.references import escaped

__all__ = [
    "aside",
    "clean_text",
    "decoded",
    "effect",
    "escaped",
    "first_sentence",
    "found_tokens",
    "frozen",
    "if_repeated",
    "in_a_line",
    "is_hidden_header",
    "is_loopback",
    "is_plain",
    "python_name",
    "quoted",
    "read_json",
    "shown_headers",
    "status",
    "to_its_end",
    "unique_names",
    "values_in",
    "write_json",
]
