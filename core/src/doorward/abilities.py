"""What a driver may have besides its methods: each protocol is an ability, which Doorward looks for."""

from doorward.exports import Exports

_EXPORTS = Exports(
    __name__,
    {
        "model.drivers": (
            "HasBaseUrl HasHookspecs HasIdempotencyKey HasOrigins HasPackages HasPaths HasReady HasSettings "
            "HasSlots HasUrl HasWait HasWorkingFolder KnownNames OffersFunctions ReadsPrograms SupportsBuild "
            "SupportsClose SupportsFilledParameters SupportsFlush SupportsLogin SupportsLoginCheck SupportsLogout "
            "SupportsMachineCheck SupportsOpen SupportsServerCheck TellsApps TellsChanges TellsLayout TellsLogin "
            "TellsRequests TellsUpstreams"
        ),
    },
)
__all__ = [*_EXPORTS.places]
__getattr__ = _EXPORTS.load
