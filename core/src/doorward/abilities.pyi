# `make reference` writes this file.
from doorward.model.drivers import HasBaseUrl as HasBaseUrl
from doorward.model.drivers import HasHookspecs as HasHookspecs
from doorward.model.drivers import HasIdempotencyKey as HasIdempotencyKey
from doorward.model.drivers import HasOrigins as HasOrigins
from doorward.model.drivers import HasPackages as HasPackages
from doorward.model.drivers import HasPaths as HasPaths
from doorward.model.drivers import HasReady as HasReady
from doorward.model.drivers import HasSettings as HasSettings
from doorward.model.drivers import HasSlots as HasSlots
from doorward.model.drivers import HasUrl as HasUrl
from doorward.model.drivers import HasWait as HasWait
from doorward.model.drivers import HasWorkingFolder as HasWorkingFolder
from doorward.model.drivers import KnownNames as KnownNames
from doorward.model.drivers import OffersFunctions as OffersFunctions
from doorward.model.drivers import ReadsPrograms as ReadsPrograms
from doorward.model.drivers import SupportsBuild as SupportsBuild
from doorward.model.drivers import SupportsClose as SupportsClose
from doorward.model.drivers import SupportsFilledParameters as SupportsFilledParameters
from doorward.model.drivers import SupportsFlush as SupportsFlush
from doorward.model.drivers import SupportsLogin as SupportsLogin
from doorward.model.drivers import SupportsLoginCheck as SupportsLoginCheck
from doorward.model.drivers import SupportsLogout as SupportsLogout
from doorward.model.drivers import SupportsMachineCheck as SupportsMachineCheck
from doorward.model.drivers import SupportsOpen as SupportsOpen
from doorward.model.drivers import SupportsServerCheck as SupportsServerCheck
from doorward.model.drivers import TellsApps as TellsApps
from doorward.model.drivers import TellsChanges as TellsChanges
from doorward.model.drivers import TellsLayout as TellsLayout
from doorward.model.drivers import TellsLogin as TellsLogin
from doorward.model.drivers import TellsRequests as TellsRequests
from doorward.model.drivers import TellsUpstreams as TellsUpstreams

__all__ = [
    "HasBaseUrl",
    "HasHookspecs",
    "HasIdempotencyKey",
    "HasOrigins",
    "HasPackages",
    "HasPaths",
    "HasReady",
    "HasSettings",
    "HasSlots",
    "HasUrl",
    "HasWait",
    "HasWorkingFolder",
    "KnownNames",
    "OffersFunctions",
    "ReadsPrograms",
    "SupportsBuild",
    "SupportsClose",
    "SupportsFilledParameters",
    "SupportsFlush",
    "SupportsLogin",
    "SupportsLoginCheck",
    "SupportsLogout",
    "SupportsMachineCheck",
    "SupportsOpen",
    "SupportsServerCheck",
    "TellsApps",
    "TellsChanges",
    "TellsLayout",
    "TellsLogin",
    "TellsRequests",
    "TellsUpstreams",
]
