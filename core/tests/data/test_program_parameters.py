"""New values for the parameters of a program."""

from __future__ import annotations

import pytest
from doorward.data.program_parameters import check
from doorward.model.errors import InvalidProgram


def test_types_of_parameters_are_checked() -> None:
    """A new value has the JSON type of the default; a whole number will do for a number, and anything for None."""
    check({"n": 2, "f": 3, "o": "x"}, {"n": 1, "f": 1.5, "o": None})
    for given_, known in [
        ({"n": 1.5}, {"n": 1}),
        ({"n": True}, {"n": 1}),
        ({"s": None}, {"s": ""}),
        ({"m": 1}, {"n": 1}),
    ]:
        with pytest.raises(InvalidProgram):
            check(given_, known)
