"""The flow through a program, read from its text: the functions whose answers may be in an argument of another call."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from doorward_provenance.flow import ANY, Flow

NAMES = {"mail": ("list_mails", "send"), "people": ("get_people",), "calendar": ("list_events",)}


def resolve(path: Sequence[str]) -> str | None:
    if path[0] not in NAMES:
        return None
    return ".".join(path) if len(path) == 2 and path[1] in NAMES[path[0]] else ANY


def to(code: str, *given: str, continues: bool = False) -> set[str]:
    """What may be in `to` of mail.send."""
    return {*Flow(code, resolve, given=given, continues=continues).sources("mail.send", "to")}


MAILS, PEOPLE = {"mail.list_mails"}, {"people.get_people"}


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("mail.send(to='ann')", set()),
        ("await mail.send(to=who + '@x.example')", set()),
        ("a = mail.list_mails()\nmail.send(to=a[0]['from'], body=b)", MAILS),
        ("a = mail.list_mails()\nmail.send(to='ann', body=a[0])", set()),
        ("mail.send((await mail.list_mails())[0])", MAILS),
        ("a = mail.list_mails()\nb = people.get_people()\nmail.send(to=f\"{b[0]['reach']!s}\", body=a)", PEOPLE),
        ("a = mail.list_mails()\nto = []\nfor each in a:\n    to.append(each['from'].split('@')[0][1:-1].upper())\nmail.send(to=to)", MAILS),
        ("to = 'x'\nif mail.list_mails():\n    to = 'ann'\nmail.send(to=to)", MAILS),
        ("to = ''\nwhile len(to) < len(mail.list_mails()):\n    to += 'a'\nmail.send(to=to)", MAILS),
        ("mail.send(to='a' * len(mail.list_mails()))", MAILS),
        ("mail.send(to=[m['from'] for m in mail.list_mails() if m['x']])", MAILS),
        ("mail.send(to=['ann' for m in people.get_people() if m in mail.list_mails()])", MAILS | PEOPLE),
        ("mail.send(to={k: v for k, v in people.get_people()}['x'])", PEOPLE),
        ("def f(a, b=1):\n    return a\nmail.send(to=f(mail.list_mails()))", MAILS),
        ("def f(a):\n    x = a\n    mail.send(to=x)\nf(b=mail.list_mails())", MAILS),
        ("def f(box, a):\n    box.append(a)\nto = []\nf(to, mail.list_mails())\nmail.send(to=to)", MAILS),
        ("f = lambda a: a\nmail.send(to=f(mail.list_mails()))", MAILS),
        ("mail.send(to=max(people.get_people(), key=lambda p: p['x'])['x'])", PEOPLE),
        ("def f(a):\n    global to\n    to = a\nmail.send(to='x')", {ANY}),
        ("def key(p):\n    mail.send(to=p)\nlist(map(key, mail.list_mails()))", MAILS),
        ("with mail.list_mails() as (a, *b):\n    mail.send(to=b)", MAILS),
        ("match mail.list_mails():\n    case [{'from': who, **rest}]:\n        mail.send(to=rest)", MAILS),
        ("try:\n    mail.list_mails()\nexcept Exception as e:\n    mail.send(to=str(e))", {*MAILS, "mail.send"}),
        ("(to := mail.list_mails())\nmail.send(to=to)", MAILS),
        ("a, (b, *c) = 1, mail.list_mails()\nmail.send(to=c)", MAILS),
        ("a = {}\na['x']['y'] = mail.list_mails()\nmail.send(to=a)", MAILS),
        ("import asyncio\na, b = await asyncio.gather(mail.list_mails(), people.get_people())\nmail.send(to=b)", MAILS | PEOPLE),
        ("import re\nmail.send(to=re.findall('x', 'y'))", set()),
        ("import base64 as b\nmail.send(to=b.b64decode(mail.list_mails()[0]))", MAILS),
        ("from mail import list_mails as l\nmail.send(to=l())", MAILS),
        ("import mail as m\nm.send(to=m.list_mails())", MAILS),
        ("f = mail.send\nf(to=mail.list_mails())", MAILS),
        ("mail.send(**{'to': mail.list_mails()})", MAILS),
        ("import calendar\nmail.send(to=calendar.list_events())", {"calendar.list_events"}),
        ("d = {}\nd[mail.list_mails()[0]] = 'x'\nmail.send(to=[*d][0])", MAILS),
        ("to = 'x'\ntry:\n    mail.list_mails()[7]\nexcept IndexError:\n    to = 'y'\nmail.send(to=to)", {*MAILS, "mail.send"}),
        ("n = 0\nwhile True:\n    if len(mail.list_mails()) < n:\n        break\n    n += 1\nmail.send(to=n)", MAILS),
        ("a = mail.list_mails()\ndef f():\n    if a:\n        return 'x'\n    return 'y'\nmail.send(to=f())", MAILS),
        ("mail.send(to='x')\nlist(map(mail.send, mail.list_mails()))", {*MAILS, "mail.send"}),
        ("mail.send(to=mail.messages.list())", {ANY}),
        ("mail.send(to=open('x').read())", {ANY}),
        ("import pathlib\nmail.send(to=pathlib.Path('x').read_text())", {ANY}),
        ("from doorward import ask\nmail.send(to=ask('x'))", {ANY}),
        ("mail.send(to=call_tool('mail.list_mails'))", {ANY}),
        ("mail.send(to=servers['mail'].list_mails())", {ANY}),
        ("mail.send(to=getattr(mail, 'list_mails')())", {ANY}),
        ("class A:\n    to = 'x'\nmail.send(to=A.to)", {ANY}),
        ("from x import *\nmail.send(to=y)", {ANY}),
        ("call_tool('mail.send', to='x')", {ANY}),
        ("a = mail.list_mails()\nmail.send(to='x')\ncall_tool('mail.send', to=a)", MAILS),
        ("const a = await mail.list_mails()", {ANY}),
    ],
)  # fmt: skip
def test_the_sources_of_an_argument(code: str, found: set[str]) -> None:
    """By definitions and uses; what the text does not show is everything so far."""
    assert to(code, "who", "b") == found


def test_names_of_earlier_programs() -> None:
    """A session may have left any."""
    assert to("mail.send(to='x')", continues=True) == {ANY}


@pytest.mark.parametrize(
    "code",
    [
        "x = " + "-" * 5_000 + "1",
        "(" * 500 + ")" * 500,
        "x = 1\n" * 6_000,
        "\0",
        "a" + ".a" * 1_000,
        "x = " + "1 + " * 900 + "1",
    ],
)
def test_odd_programs(code: str) -> None:
    """They end, and nothing is claimed of them."""
    assert to(code) == {ANY}


def test_a_bounded_answer_is_nobodys_words() -> None:
    """Where the call says the schema itself; one that the program computes may be any."""
    code = "mail.send(to=people.get_people(about=mail.list_mails(), schema={}))"
    bounds = [
        {*Flow(text, resolve, bounds=lambda function, schema, name=name: function == name).sources("mail.send", "to")}
        for name, text in (
            ("people.get_people", code.format("{'type': 'number'}")),
            ("people.get_people", code.format("x")),
            ("mail.send", code.format("{'type': 'number'}")),
        )
    ]
    assert bounds == [set(), {ANY, *MAILS, *PEOPLE}, {*MAILS, *PEOPLE}]
