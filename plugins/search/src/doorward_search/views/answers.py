"""The vectors that a search view answers, which may be anything: a model or a server on the network made them."""

from __future__ import annotations

from typing import Any

import numpy as np
from doorward.administration import Unfit
from numpy.typing import NDArray

MAX_DIMENSIONS = 8192
"""Numbers in one vector."""

Array = NDArray[Any]

_NUMPY_NUMBERS = {np.dtype(code).type for code in np.typecodes["AllInteger"] + "efd"}


def vectors(answer: Any, texts: int, dimensions: int | None) -> Array:
    """An answer as an array with a row of length 1 for each text; zeros stay zeros. `dimensions` is how many numbers
    others have had, if any.

    Raises: Unfit, which says what is wrong with it.
    """
    _plain(answer)
    try:
        found = np.asarray(answer)
    except (ValueError, TypeError, OverflowError):
        raise Unfit("it answered vectors of different lengths, or no vectors") from None
    if found.ndim != 2 or found.dtype.kind not in "fiu":
        raise Unfit(f"it answered an array of {found.dtype} with {found.ndim} axes, not numbers with 2")
    count, length = found.shape
    if count != texts:
        raise Unfit(f"it answered {count} vectors for {texts} texts")
    if not 0 < length <= MAX_DIMENSIONS:
        raise Unfit(f"it answered vectors of {length} numbers; from 1 to {MAX_DIMENSIONS} are possible")
    if dimensions is not None and length != dimensions:
        raise Unfit(f"it answered vectors of {length} numbers, and of {dimensions} before under the same fingerprint")
    found = found.astype(np.float64)
    if not np.isfinite(found).all():
        raise Unfit("it answered numbers that are not finite")
    largest = np.abs(found).max(axis=1, keepdims=True)
    found /= np.where(largest > 0, largest, 1)  # first: the squares of large numbers would be infinite
    norms = np.linalg.norm(found, axis=1, keepdims=True)
    return (found / np.where(norms > 0, norms, 1)).astype(np.float32)


def _plain(answer: Any) -> None:
    """Raises: Unfit for lists of anything but numbers. To make an array of one long text and many numbers would take
    the room of the text for each of them."""
    if not isinstance(answer, (list, tuple)):
        return
    for row in answer:
        if isinstance(row, (str, bytes)):
            raise Unfit(f"it answered a list of {type(row).__name__}, not of vectors")
        if not isinstance(row, (list, tuple)):
            continue
        if len(row) > MAX_DIMENSIONS:
            raise Unfit(f"it answered vectors of {len(row)} numbers; from 1 to {MAX_DIMENSIONS} are possible")
        if other := {*map(type, row)} - {int, float} - _NUMPY_NUMBERS:
            raise Unfit(f"it answered vectors with {min(each.__name__ for each in other)} in them, not only numbers")


def packed(vector: Array) -> bytes:
    """A vector as it is kept: half as exact takes half the room, and changes no ranking."""
    return vector.astype("<f2").tobytes()


def unpacked(kept: list[bytes]) -> Array:
    """Kept vectors, all of the same length, as one array."""
    return np.frombuffer(b"".join(kept), "<f2").reshape(len(kept), -1).astype(np.float32)
