"""Files and folders for this user alone, which no other user can read or replace."""

from doorward.exports import Exports

_EXPORTS = Exports(
    __name__,
    {
        "host.cached_file": "CachedFile stamp",
        "host.files": (
            "alone check_own flocked own_file own_folder refuse_link shared_secret sync_names write_file=write "
            "write_own"
        ),
    },
)
__all__ = [*_EXPORTS.places]
__getattr__ = _EXPORTS.load
