# `make reference` writes this file.
from doorward.host.cached_file import CachedFile as CachedFile
from doorward.host.cached_file import stamp as stamp
from doorward.host.files import alone as alone
from doorward.host.files import check_own as check_own
from doorward.host.files import flocked as flocked
from doorward.host.files import own_file as own_file
from doorward.host.files import own_folder as own_folder
from doorward.host.files import refuse_link as refuse_link
from doorward.host.files import shared_secret as shared_secret
from doorward.host.files import sync_names as sync_names
from doorward.host.files import write as write_file
from doorward.host.files import write_own as write_own

__all__ = [
    "CachedFile",
    "alone",
    "check_own",
    "flocked",
    "own_file",
    "own_folder",
    "refuse_link",
    "shared_secret",
    "stamp",
    "sync_names",
    "write_file",
    "write_own",
]
