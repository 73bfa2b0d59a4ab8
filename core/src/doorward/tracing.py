"""How a call and its requests are followed."""

from doorward.exports import Exports

_EXPORTS = Exports(
    __name__,
    {
        "model.calls": "CallTrace RequestTrace",
        "plugins.tracing": "current_trace",
    },
)
__all__ = [*_EXPORTS.places]
__getattr__ = _EXPORTS.load
