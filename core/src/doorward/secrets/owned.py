"""The secrets that the settings of one server may name. Revealed values are remembered as secrets of that server."""

from __future__ import annotations

from collections.abc import Callable

from doorward.model.errors import MissingSecret
from doorward.secrets.owners import NO_OWNER, Owner
from doorward.secrets.redaction import Redactor
from doorward.secrets.references import Reference
from doorward.secrets.scrubber import MAX_FETCHED_VALUES, MAX_SHARED_VALUES, Scope
from doorward.secrets.store import Secrets, Template


class OwnedSecrets(Secrets):
    """The secrets that the settings of one server may name, or those of one principal there. The shared scrubber
    remembers revealed values, with their owner."""

    def __init__(
        self, shared: Secrets, whose: Owner, own: Callable[[str], Template | str | None] | None = None
    ) -> None:
        """`own` returns a secret of the principal by its key, for `${principal:KEY}`."""
        self._shared, self._whose, self._own, self.file = shared, whose, own, shared.file

    def variables(self, prefix: str) -> dict[str, str]:
        return self._shared.variables(prefix)

    def _is_principals(self, reference: Reference) -> bool:
        return self._own is not None and reference.scheme == "principal"

    def _takes_time(self, reference: Reference) -> bool:
        return self._is_principals(reference) or self._shared._takes_time(reference)

    def _is_to_hide(self, reference: Reference, remember: bool) -> bool:
        # A principal's own secrets are remembered where they are revealed. Their name is no secret.
        return not self._is_principals(reference) and self._shared._is_to_hide(reference, remember)

    async def _fetch(self, reference: Reference) -> str | None:
        if not self._is_principals(reference):
            return await self._shared._fetch(reference)
        own = self._owned(reference)
        if isinstance(own, str):
            return own
        return self._revealed(reference, await self._of_template.get(own.raw, credential=True))

    def _value(self, reference: Reference) -> str | None:
        if not self._is_principals(reference):
            return self._shared._value(reference)
        own = self._owned(reference)
        if isinstance(own, str):
            return own
        return self._revealed(reference, self._of_template.expand(own.raw, remember=True, credential=True))

    @property
    def _of_template(self) -> Secrets:
        """The secrets that the principal's own templates may name. Their values belong to the principal."""
        return OwnedSecrets(self._shared, self._whose)

    def _revealed(self, reference: Reference, value: str) -> str:
        self.remember(value, of=reference.text)
        return value

    def _owned(self, reference: Reference) -> Template | str:
        assert self._own is not None
        principal = self._whose.principal
        if (found := self._own(reference.name)) is None:
            place = f"[principals.{principal}.secrets]"
            raise MissingSecret(
                f"the principal {principal!r} has no {reference.name!r}", hint=f"Set {reference.name} in {place}."
            )
        return found

    def remember(self, value: str, *, of: str = "", most: int = MAX_FETCHED_VALUES, whose: Owner = NO_OWNER) -> None:
        whose = self._whose._replace(is_credential=whose.is_credential)
        if not whose.principal:
            self._shared.remember(value, of=of, most=most, whose=whose)
        elif value.strip() != whose.principal:  # else a principal's chosen name could remove any word from all answers
            self._shared.remember(value, of=of and f"of principals: {of}", most=MAX_SHARED_VALUES, whose=whose)

    def redactor(self, scope: Scope | None = None) -> Redactor:
        return self._shared.redactor(scope)
