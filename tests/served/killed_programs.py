"""Programs made by chance, each the same for the same number: calls in loops, branches and functions, one after the
other, gathered, and in chains beside each other; calls that fail, writes that may be repeated or not, answers of
nothing and of 100 kB, times, random numbers and helpers of `doorward`."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

HEAD = """\
import asyncio
import random
import time
import api
import doorward
import keyed
names = []
out = []
def name():
    names.append(1)
    return f'w{len(names)}'
def show(got):
    out.append(len(str(got)))
    print(str(got)[-80:])
def now():
    return int(time.time() * 1000)
async def chain(n):
    show(await api.slow(n=n))
    show(await api.add_item(name=name()))
async def tried(n):
    try:
        return await api.fail(n=n)
    except Exception as e:
        return str(e)
"""

_READS = ("api.get_item(n={})", "api.slow(n={})", "keyed.get_item(n={})", "doorward.call('api.get_item', {{'n': {}}})")
_WRITES = (
    "api.add_item(name=name())",
    "api.put_item(name=name())",
    "api.drop_item(name=name())",
    "api.patch_item(name=name())",
    "keyed.add_item(name=name())",
    "api.add_item(name=f'{name()}@{now()}')",
    "api.add_item(name=f'{name()} {random.random()}')",
    "doorward.call('api.add_item', {'name': name()})",
)
_HELPERS = (
    "doorward.search('item', limit=2)['functions']",
    "doorward.describe('api.get_item').splitlines()[0]",
    "doorward.servers()",
    "doorward.capabilities()",
)
_SIZES = (0, 1, 10, 100)


@dataclass(frozen=True)
class Made:
    """A program. `races`: it makes calls beside each other, so its lines come in any order."""

    number: int
    code: str
    races: bool


def made(number: int, calls: int = 3, *, large: bool = False) -> Made:
    """The program of this number, with as many calls about. `large`: it reads 100 kB, and some more calls come after
    that."""
    maker = _Maker(Random(number), calls)
    lines = maker.block(0)
    if large:
        maker.left = 3
        lines += [f"show({maker.chance.choice(_WRITES)})", "show(api.big(n=100))", *maker.block(0)]
        lines += [f"show({maker.chance.choice(_WRITES)})"]
    if maker.chance.random() < 0.1:
        lines.append("api.fail(n=7)")
    return Made(number, "\n".join((HEAD.rstrip(), *lines, "out")), maker.races)


class _Maker:
    def __init__(self, chance: Random, calls: int) -> None:
        self.chance, self.left, self.races = chance, chance.randint(1, calls), False
        self.times = 1

    def block(self, depth: int) -> list[str]:
        """Statements, until the calls of this block are used up."""
        lines = self.statement(depth)
        while self.left > 0 and (depth == 0 or self.chance.random() < 0.4):
            lines += self.statement(depth)
        return lines

    def statement(self, depth: int) -> list[str]:
        kinds = [self.single, self.single, self.single, self.failing, self.gathered, self.other]
        if depth < 2:
            kinds += [self.loop, self.branch, self.until]
        if self.times == 1 and self.chance.random() < 0.4:
            kinds.append(self.chains)
        return self.chance.choice(kinds)(depth)

    def call(self) -> str:
        self.left -= self.times
        if self.chance.random() < 0.5:
            return self.chance.choice(_WRITES)
        return self.chance.choice(_READS).format(self.chance.randint(0, 9))

    def single(self, depth: int) -> list[str]:
        return [f"show({self.call()})"]

    def failing(self, depth: int) -> list[str]:
        self.left -= self.times
        what = self.chance.choice([f"api.fail(n={self.chance.randint(0, 9)})", "api.fail_item(name=name())"])
        return ["try:", f"    show({what})", "except Exception as e:", "    print('failed', e)"]

    def gathered(self, depth: int) -> list[str]:
        calls = [self.call() for _ in range(self.chance.randint(2, 3))]
        if self.chance.random() < 0.3:
            calls.append("tried(3)")
        return [f"for got in await asyncio.gather({', '.join(calls)}):", "    show(got)"]

    def chains(self, depth: int) -> list[str]:
        self.races = True
        waits = self.chance.sample([0, 3, 6, 9], self.chance.randint(2, 3))
        self.left -= 2 * len(waits)
        return [f"await asyncio.gather({', '.join(f'chain({n})' for n in waits)})"]

    def loop(self, depth: int) -> list[str]:
        return self.repeated(depth, "for i in range({}):")

    def until(self, depth: int) -> list[str]:
        at = f"turn{self.chance.randint(0, 999)}"
        return [f"{at} = 0", *self.repeated(depth, f"while {at} < {{}}:", f"    {at} += 1")]

    def repeated(self, depth: int, head: str, *first: str) -> list[str]:
        times, self.times = self.times, self.times * (turns := self.chance.randint(1, 2))
        lines = [head.format(turns), *first, *_indented(self.block(depth + 1))]
        self.times = times
        return lines

    def branch(self, depth: int) -> list[str]:
        self.left -= self.times
        number = self.chance.randint(0, 9)
        condition = self.chance.choice([f"api.get_item(n={number})['value'] % 2", "random.random() < 0.5"])
        left = self.left
        one = _indented(self.block(depth + 1))
        self.left, used = left, self.left
        other = _indented(self.block(depth + 1))
        self.left = min(used, self.left)
        return [f"if {condition}:", *one, "else:", *other]

    def other(self, depth: int) -> list[str]:
        self.left -= self.times
        size = self.chance.choice(_SIZES)
        return self.chance.choice(
            [
                [f"big = api.big(n={size})", "print(len(big['text']), big['text'][-9:])"],
                ["print(api.nothing())"],
                ["print(f'@{now()}')", "print(random.random())"],
                [f"show({self.chance.choice(_HELPERS)})"],
                ["show([await api.get_item(n=i) for i in range(2)])"],
            ]
        )


def _indented(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]
