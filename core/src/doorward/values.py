"""Values and texts that come from others: written, cleaned, quoted, named; large ones beside the event loop."""

from doorward.exports import Exports

_EXPORTS = Exports(
    __name__,
    {
        "data.clean_text": "clean_text",
        "data.frozen": "frozen",
        "data.headers": "is_hidden_header shown_headers",
        "data.offload": "aside to_its_end write_json",
        "data.quoting": "in_a_line quoted status",
        "data.wording": "first_sentence",
        "host.loopback": "is_loopback",
        "host.proxies": "known_proxy not_by_proxy",
        "model.calls": "effect if_repeated",
        "model.names": "is_plain python_name unique_names",
        "secrets.detection": "found_tokens",
        "secrets.references": "escaped",
    },
)
__all__ = [*_EXPORTS.places]
__getattr__ = _EXPORTS.load
