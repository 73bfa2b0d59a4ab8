# `make reference` writes this file.
from doorward.data.clean_text import clean_text as clean_text
from doorward.data.frozen import frozen as frozen
from doorward.data.headers import is_hidden_header as is_hidden_header
from doorward.data.headers import shown_headers as shown_headers
from doorward.data.offload import aside as aside
from doorward.data.offload import to_its_end as to_its_end
from doorward.data.offload import write_json as write_json
from doorward.data.quoting import in_a_line as in_a_line
from doorward.data.quoting import quoted as quoted
from doorward.data.quoting import status as status
from doorward.data.wording import first_sentence as first_sentence
from doorward.host.loopback import is_loopback as is_loopback
from doorward.host.proxies import known_proxy as known_proxy
from doorward.host.proxies import not_by_proxy as not_by_proxy
from doorward.model.calls import effect as effect
from doorward.model.calls import if_repeated as if_repeated
from doorward.model.names import is_plain as is_plain
from doorward.model.names import python_name as python_name
from doorward.model.names import unique_names as unique_names
from doorward.secrets.detection import found_tokens as found_tokens
from doorward.secrets.references import escaped as escaped

__all__ = [
    "aside",
    "clean_text",
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
    "known_proxy",
    "not_by_proxy",
    "python_name",
    "quoted",
    "shown_headers",
    "status",
    "to_its_end",
    "unique_names",
    "write_json",
]
