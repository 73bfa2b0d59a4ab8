"""What learning from use gains and costs: questions that were not used to learn, before and after others were; and
what a call and a run pay for it."""

from __future__ import annotations

import random
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from common import table
from doorward.model.functions import Function
from doorward_search.index import Index
from doorward_search.learning.known import Known
from doorward_search.learning.lessons import WORD, Amount, Lesson
from doorward_search.learning.run_record import Done, RunRecord
from doorward_search.learning.value_flow import flows
from doorward_search.learning.words import Learned, bonus, credits, shares
from doorward_search.question import read
from doorward_search.ranking import Ranking
from doorward_search.segment import segment
from foreignsearch import PLACES, SPLIT, Half, halved, worth
from foreignsets import PACKAGES, single, turns, wheel

HITS = 20
"""Of which a call is learned from."""

WRONG = 0.3
"""The share of the first three hits that the misled agent calls with success although they are not meant."""

Questions = Sequence[tuple[str, Sequence[str]]]


async def run(folder: Path) -> None:
    _costs()
    try:
        bfcl = wheel(PACKAGES[0])
    except (subprocess.SubprocessError, OSError) as error:
        print(f"Learning from questions was left out: {PACKAGES[0]} could not be downloaded ({error}).\n")
        return
    halves = [*(halved(single(bfcl, kind), False) for kind in SPLIT), halved(turns(bfcl, apart=True), None)]
    print(
        "## Learning from use: half of the questions were searched, and what is right was called; recall@1 / @5 / @10"
    )
    table(
        ["questions", "not learned from", "after once", "five times", "misled", "learned from, before", "five times"],
        [_row(half) for half in halves],
    )


def _row(half: Half) -> list[str]:
    index = Index({name: segment(made.functions) for name, made in half.servers.items()}, {})
    questions = list(half.questions)
    random.Random(1).shuffle(questions)
    learned, others = questions[: len(questions) // 2], questions[len(questions) // 2 :]
    nothing = Known([], 0.0)
    once, often = _known(index, learned, 1), _known(index, learned, 5)
    misled = _known(index, learned, 3, wrong=WRONG)
    told = [_recall(index, others, each) for each in (nothing, once, often, misled)]
    return [f"{half.name} ({len(questions)})", *told, *(_recall(index, learned, each) for each in (nothing, often))]


def _known(index: Index, questions: Questions, times: int, wrong: float = 0.0) -> Known:
    chance = random.Random(2)
    known, nothing = Known([], 0.0), Learned(index, Known([], 0.0))
    for text, right in questions:
        found = _found(index, text, nothing, HITS)
        words = credits(shares(index, read(text)))
        for place, name in enumerate(found):
            if name in right or (place < 3 and chance.random() < wrong):
                for word, credit in words.items():
                    known.add(Lesson(WORD, word, name), Amount(credit * times, 0.0))
    return known


def _found(index: Index, text: str, learned: Learned, most: int) -> list[str]:
    question = read(text)
    found = Ranking(index, question, learned=bonus(learned, question, 0.0)).best(most)
    return [".".join(index.qualified(number)) for number in found.functions]


def _recall(index: Index, questions: Questions, known: Known) -> str:
    learned = Learned(index, known)
    told = [worth(_found(index, text, learned, PLACES), set(right)) for text, right in questions]
    return " / ".join(f"{sum(column) / len(told):.3f}" for column in [*zip(*told, strict=True)][:3])


def _costs() -> None:
    """Of an answer with a hundred items of ten fields."""
    answer = [{f"field{n}": f"value {i} {n}" if n % 2 else 1000 + 10 * i + n for n in range(10)} for i in range(100)]
    given: Mapping[str, Any] = {"properties": {"id": {}}, "required": ["id"]}
    producer, consumer = Function("s", "a", "a"), Function("s", "b", "b", parameters=given)
    record = RunRecord("local")
    started = time.perf_counter()
    for _ in range(100):
        record.called(producer, {}, answer, 20_000)
    call = (time.perf_counter() - started) / 100
    started = time.thread_time()
    flows([Done(producer, {}, answer), Done(consumer, {"id": "value 50 1"}, None)])
    after = time.thread_time() - started
    print("## Learning from use: what an answer of 100 items with 10 fields costs")
    table(["a call, µs", "a thread after the run, ms"], [[f"{call * 1e6:.1f}", f"{after * 1000:.1f}"]])
