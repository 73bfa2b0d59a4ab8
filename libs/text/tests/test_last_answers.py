"""What a program is told that takes an answer for something else."""

from __future__ import annotations

import ast
import json
from typing import Any

import pytest
from doorward import Call, Compiled, Function
from doorward.model.programs import Failure
from doorward_testing.samples import CONFIG, Weather
from doorward_text.held_text import holds
from doorward_text.last_answers import LastAnswers
from doorward_text.value_text import described
from hypothesis import given
from hypothesis import strategies as st

RECORDS = {"items": [{"id": 1, "name": "x"}, {"id": 2, "name": "y"}], "total": 2}
SAID = "s.records answered a dict with items (a list of 2, first a dict with id, name), total."


def hint(value: Any, type: str, message: str, size: int = 100) -> str | None:
    answered = LastAnswers()
    answered.add("s.records", value, size)
    return answered.hint(Failure("program", type, message))


@pytest.mark.parametrize(
    ("type", "message", "told"),
    [
        ("KeyError", "'record'", SAID),
        ("KeyError", "record", SAID),  # so in Monty
        ("KeyError", "0", SAID),
        ("KeyError", "slice(None, 1, None)", SAID),
        ("TypeError", "unhashable type: 'slice'", SAID),
        ("KeyError", "'totals'", f"Did you mean 'total'? {SAID}"),
        ("KeyError", "'name'", f"There is 'name' at ['items'][0]. {SAID}"),
        ("AttributeError", "the answer has no field 'name'; it has: items, total", f"There is 'name' at ['items'][0]. "
                                                                                   f"{SAID}"),
        ("AttributeError", "'dict' object has no attribute 'total'", f'Answers are plain dictionaries here: write '
                                                                     f'value["total"]. {SAID}'),
        ("AttributeError", "the answer has no field 'json'; it has: items", "An answer is its value, not a response: "
                                                                            "leave out "
         f"`.json`. {SAID}"),
        ("AttributeError", "'str' object has no attribute 'id'", f"A loop over a dictionary gives its keys. {SAID}"),
        ("TypeError", "string indices must be integers, not 'str'", f"A loop over a dictionary gives its keys. {SAID}"),
        ("TypeError", "'builtin_function_or_method' object is not subscriptable", f'Dictionaries have methods: write '
                                                                                  f'value["items"], not '
         f'value.items, for a field. {SAID}'),
        ("TypeError", "'NoneType' object is not iterable", SAID),
        ("TypeError", "the JSON object must be str, bytes or bytearray, not dict", "Answers are values already: leave "
                                                                                   "out `json.loads`. "
         f"{SAID}"),
        ("ValueError", "too many values to unpack (expected 2)", SAID),
        ("IndexError", "list index out of range", SAID),
        ("ZeroDivisionError", "division by zero", None),
        ("TypeError", "f() takes 1 positional argument but 2 were given", None),
    ],
)  # fmt: skip
def test_a_mistaken_answer_is_described(type: str, message: str, told: str | None) -> None:
    """What is under which name, and where the key is that was asked for; nothing about errors that are of no answer."""
    assert hint(RECORDS, type, message) == told


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (json.dumps(RECORDS), "s.records answered text that holds JSON: json.loads reads it"),
        (
            str(RECORDS),
            "s.records answered text that holds a Python literal: `import ast` at the top, ast.literal_eval reads it",
        ),
        ({"content": " [1]"}, "s.records answered text that holds JSON: json.loads reads it, at ['content']"),
        (["plain"], "s.records answered a list of 1, a str."),
    ],
)
def test_text_that_holds_values_is_told(value: Any, told: str | None) -> None:
    """Where text is indexed that is JSON or a Python literal."""
    assert hint(value, "TypeError", "string indices must be integers, not 'str'") == told


def test_a_field_that_is_there_is_not_left_out() -> None:
    """`.content` of an answer that has it is `["content"]`, and JSON within is read from there."""
    answer = {"content": '{"numbers": [1]}'}
    assert hint(answer, "AttributeError", "'dict' object has no attribute 'content'") == (
        'Answers are plain dictionaries here: write value["content"]. s.records answered a dict with content.'
    )
    assert hint(answer, "TypeError", "the JSON object must be str, bytes or bytearray, not dict") == (
        "s.records answered text that holds JSON: json.loads reads it, at ['content']"
    )


@pytest.mark.parametrize(
    ("answer", "argument", "told"),
    [
        (
            "a.txt\nb.txt",
            "a",
            "A loop over a text gives its characters. s.f answered a text; its lines are `.splitlines()`.",
        ),
        ("a.txt", "a", "A loop over a text gives its characters. s.f answered a text."),
        ({"files": 1}, "files", "A loop over a dictionary gives its keys. s.f answered a dict with files."),
        (["a"], "a", ""),
        ("a", "a", ""),
        ("", "", ""),
        ({}, "x", ""),
    ],
)
def test_what_a_loop_gave(answer: Any, argument: Any, told: str) -> None:
    """Of a call that failed with the first part of a text, or the first key of an object."""
    answered = LastAnswers()
    answered.add("s.f", answer, 10)
    assert answered.looped([1, None, argument]) == told


def test_large_answers_are_remembered_by_their_beginning() -> None:
    """With what a list's length was, and the kind of a text."""
    large = {"rows": [{"id": n, "text": "x" * 1000} for n in range(10_000)], "raw": json.dumps(["y"] * 100_000)}
    told = hint(large, "KeyError", "'row'", 10**7)
    assert told is not None
    assert told.startswith(
        "Did you mean 'rows'? s.records answered a dict with rows (a list of 10000, first a dict with id, text), raw"
    )
    assert holds(large["raw"]) == "JSON"
    assert holds(str([{"a": "y" * 50_000}])) == "a Python literal"


def test_the_last_answers_are_remembered() -> None:
    """A few functions' last ones; the latest is told of first."""
    answered = LastAnswers()
    for n in range(20):
        answered.add(f"s.f{n}", {f"key{n}": [1]}, 10)
    assert str(answered.hint(Failure("program", "KeyError", "'x'"))).startswith("s.f19 answered")
    assert "There is" not in str(answered.hint(Failure("program", "KeyError", "'key3'")))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=60),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=60), inner, max_size=4),
)


@pytest.mark.slow
@given(
    JSON,
    st.sampled_from(["KeyError", "AttributeError", "TypeError", "IndexError", "ValueError"]),
    st.text(max_size=50),
    st.integers(0, 10**6),
)
def test_any_answer_and_error(value: Any, type: str, message: str, size: int) -> None:
    """Whatever strangers' keys and values are: one short line that can be seen, and nothing raises."""
    for text in (
        message,
        repr(message),
        f"'dict' object has no attribute '{message}'",
        "string indices must be integers",
    ):
        told = hint(value, type, text, size)
        assert told is None or (len(told) < 1200 and "\n" not in told)
    assert isinstance(described(value), str)


class Told(Weather):
    async def compile(self) -> Compiled:
        return Compiled(
            [
                Function(self.name, "report", "report", "A report", returns={"type": "string"}),
                Function(self.name, "rows", "rows"),
            ]
        )

    async def call(self, call: Call) -> Any:
        return json.dumps(RECORDS) if call.function.name == "report" else RECORDS


@pytest.mark.anyio
async def test_in_a_run(doorward_host: Any) -> None:
    """The hint of a program's own mistake, and the note of a value that is such text as it came."""
    doorward_host.install("source", "told", Told)
    async with doorward_host.gateway(CONFIG.replace('source = "fake"', 'source = "told"')) as gate:
        error = (await gate.execute("rows = await weather.rows()\nrows['id']")).error
        assert error.hint == f"There is 'id' at ['items'][0]. {SAID.replace('s.records', 'weather.rows')}"
        assert (await gate.execute("await weather.report()")).notes == (
            "weather.report answered text that holds JSON: json.loads reads it",
        )
        assert (await gate.execute("import json\nx = await weather.report()\njson.loads(x)")).notes == ()
        assert (await gate.execute("{}['x']")).error.hint is None


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many characters were read as JSON, and as Python literals, which takes a hundred times as long."""
    read = [0, 0]
    for number, (module, name) in enumerate([(json, "loads"), (ast, "literal_eval")]):
        real = getattr(module, name)

        def counted(text: str, real: Any = real, number: int = number) -> Any:
            read[number] += len(text)
            return real(text)

        monkeypatch.setattr(module, name, counted)
    return read


TRAP = "[" + "1," * 9990 + "x"
TRAPS = {f"a{i}": {f"b{j}": TRAP for j in range(40)} for i in range(25)}


def test_texts_that_hold_nothing_take_no_time(read: list[int]) -> None:
    """An upstream may answer thousands of texts that look like JSON or a literal up to their end: nobody else waits for
    them to be read."""
    hint(TRAPS, "TypeError", "string indices must be integers, not 'str'", 10**7)
    assert read[0] < 1_000_000
    assert read[1] < 50_000


def test_near_keys_are_looked_for_among_few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Comparing names takes long: an answer may have a million."""
    compared: list[int] = []
    monkeypatch.setattr(
        "doorward_text.last_answers.nearest", lambda name, known, most: compared.append(len([*known])) or []
    )
    hint({f"a{i}": {f"b{i}-{j}": 0 for j in range(40)} for i in range(40)}, "KeyError", "'zzz'", 10**7)
    assert sum(compared) <= 200


@pytest.mark.slow
def test_of_a_large_answer_little_is_kept() -> None:
    """However it is nested."""
    answered = LastAnswers()
    answered.add(
        "s.records",
        {str(i): {str(j): {str(k): {"a": [1]} for k in range(40)} for j in range(40)} for i in range(40)},
        10**7,
    )

    def parts(value: Any) -> int:
        return 1 + sum(
            map(parts, value.values() if isinstance(value, dict) else value if isinstance(value, list) else ())
        )

    assert parts(answered._last["s.records"]) < 10_000
