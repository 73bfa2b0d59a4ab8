"""For plugins that start containers: the engine, Docker or Podman, and hardened containers in it.

`Engine` finds the engine at an `EngineAddress` and asks it. `hardened` is what no container of ours goes without;
`start` starts one, as a `Container`. `labels` names the process that owns it, and `sweep` removes those of dead ones.
"""

from doorward.exports import Exports

_EXPORTS = Exports(
    __name__,
    {
        "channel": "Unwrap as_socket",
        "container": "RUNTIME_PROCESSES ULIMITS Container hardened remove start",
        "engine": "Engine EngineAddress connect is_podman place sockets",
        "owner": "labels orphaned sweep",
    },
)
__all__ = [*_EXPORTS.places]
__getattr__ = _EXPORTS.load
