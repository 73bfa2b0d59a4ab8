"""What `doorward upgrade` says of stored runs."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from doorward import StateError, UnknownName
from doorward.engines import scan_all
from doorward_cli import Stored

from doorward_durable_runs.sealing import SALTS
from doorward_durable_runs.settings import RunSettings
from doorward_durable_runs.storage.earlier_files import EarlierFiles
from doorward_durable_runs.storage.store_runs import TABLE, StoreRuns
from doorward_durable_runs.storage.summaries import Head

if TYPE_CHECKING:
    from doorward.configuration import Loaded
    from doorward.engines import Store


async def stored_checks(loaded: Loaded, store: Store | None) -> AsyncIterator[Stored]:
    """Whether each stored run can be read to its end; and what earlier versions left in files. Changes nothing.
    Raises: StateError, ConfigError."""
    settings = getattr(loaded.config, "runs", None) or RunSettings()
    key, before = loaded.config.vault_keys
    if EarlierFiles(folder := loaded.state_folder() / "runs", key, settings.keep * 3600, before).any():
        advice = "It is done at the first use; versions before cannot go on with them then. Copy the folder before."
        yield Stored(f"runs: the files in {folder} are taken over into the store", "migrated", advice)
    if store is None or not (records := await scan_all(store, TABLE)):
        return
    if key is not None and await store.get(SALTS, TABLE) is None:
        raise StateError("were stored without a `vault_key`", hint="Let them end under the configuration of before.")
    runs, refused, why = StoreRuns(store, settings, key, before=before), 0, StateError("")
    for record in records:
        try:
            await runs.show(Head.of(record.value).run)
        except UnknownName:  # another process has removed it just now
            continue
        except StateError as error:
            refused, why = refused + 1, error
    await runs.close()
    if refused:
        yield Stored(f"runs: {refused} of {len(records)} cannot be read: {why.message}", "refused", why.hint or "")
    else:
        yield Stored(f"runs: {len(records)} can be read", "kept")
