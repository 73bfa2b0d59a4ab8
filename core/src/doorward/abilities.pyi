# `make reference` writes this file.
from doorward.model.abilities import HasBaseUrl as HasBaseUrl
from doorward.model.abilities import HasHookspecs as HasHookspecs
from doorward.model.abilities import HasIdempotencyKey as HasIdempotencyKey
from doorward.model.abilities import HasOrigins as HasOrigins
from doorward.model.abilities import HasPackages as HasPackages
from doorward.model.abilities import HasPaths as HasPaths
from doorward.model.abilities import HasReady as HasReady
from doorward.model.abilities import HasSettings as HasSettings
from doorward.model.abilities import HasSlots as HasSlots
from doorward.model.abilities import HasUrl as HasUrl
from doorward.model.abilities import HasWait as HasWait
from doorward.model.abilities import HasWorkingFolder as HasWorkingFolder
from doorward.model.abilities import KnownNames as KnownNames
from doorward.model.abilities import OffersFunctions as OffersFunctions
from doorward.model.abilities import ReadsPrograms as ReadsPrograms
from doorward.model.abilities import SupportsBuild as SupportsBuild
from doorward.model.abilities import SupportsClose as SupportsClose
from doorward.model.abilities import SupportsFilledParameters as SupportsFilledParameters
from doorward.model.abilities import SupportsFlush as SupportsFlush
from doorward.model.abilities import SupportsLogin as SupportsLogin
from doorward.model.abilities import SupportsLoginCheck as SupportsLoginCheck
from doorward.model.abilities import SupportsLogout as SupportsLogout
from doorward.model.abilities import SupportsMachineCheck as SupportsMachineCheck
from doorward.model.abilities import SupportsOpen as SupportsOpen
from doorward.model.abilities import SupportsServerCheck as SupportsServerCheck
from doorward.model.abilities import TellsChanges as TellsChanges
from doorward.model.abilities import TellsUpstreams as TellsUpstreams

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
    "TellsChanges",
    "TellsUpstreams",
]
