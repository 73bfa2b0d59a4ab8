"""Programs that are planned: `calc.withhold` answers with what is not known yet."""

from __future__ import annotations

from typing import Any

_BEGIN = "import calc\nmade = calc.withhold()\n"

HANDING_ON: dict[str, tuple[str, Any]] = {
    "whole": ("calc.echo(made)", {"\0planned": [1]}),
    "a part": ("calc.echo(made['number'])", {"\0planned": [1, "number"]}),
    "an attribute": ("calc.echo(made.user['id'])", {"\0planned": [1, "user", "id"]}),
    "an item": ("calc.echo(made['labels'][0]['name'])", {"\0planned": [1, "labels", 0, "name"]}),
    "get": ("calc.echo(made.get('number'))", {"\0planned": [1, "number"]}),
    "within a value": ("calc.echo({'of': [made.id]})", {"of": [{"\0planned": [1, "id"]}]}),
    "by name": ("calc.echo(number=made.number)", {"number": {"\0planned": [1, "number"]}}),
    "as the result": ("result = {'made': made.url}", {"made": {"\0planned": [1, "url"]}}),
    "in a list": ("made_all = [calc.withhold() for _ in range(2)]\nlen(made_all)", 2),
    "in a function": ("def of(what):\n    return what.number\ncalc.echo(of(made))", {"\0planned": [1, "number"]}),
    "awaited": ("later = await calc.withhold()\ncalc.echo(later.id)", {"\0planned": [1, "id"]}),
    "gathered": (
        "import asyncio\nboth = await asyncio.gather(calc.withhold(), calc.withhold())\ncalc.echo(both[1].id)",
        {"\0planned": [1, "id"]},
    ),
    "not looked at": ("for n in range(3):\n    calc.withhold()\nn", 2),
}
"""What may be done with what is not known: the code, and its value."""

UNREAD: dict[str, tuple[str, Any]] = {
    "a statement": ("import calc\ncalc.withhold()\n1", 1),
    "in a loop": ("import calc\nfor n in range(3):\n    calc.withhold()\nn", 2),
    "in a function": ("import calc\ndef change(n):\n    calc.withhold()\n    return n\nchange(1)", 1),
    "awaited": ("import calc\nawait calc.withhold()\n1", 1),
    "gathered": (
        "import asyncio, calc\nawait asyncio.gather(calc.withhold(), *[calc.withhold() for _ in range(2)])\n1", 1,
    ),
    "gathered by its name": (
        "from asyncio import gather\nimport calc\nawait gather(*[calc.withhold() for _ in range(2)])\n1", 1,
    ),
    "a name that is never read": ("import calc\nmade = calc.withhold()\n1", 1),
    "in a branch": ("import calc\nif calc.add(1, 2) == 3:\n    calc.withhold()\n1", 1),
    "after one that was caught": ("import calc\ntry:\n    calc.fail()\nexcept Exception:\n    calc.withhold()\n1", 1),
    "the last": ("import calc\ncalc.withhold()", {"\0planned": [1]}),
    "the last, awaited": ("import calc\nawait calc.withhold()", {"\0planned": [1]}),
}  # fmt: skip
"""Programs that use no answer which is not known, and their values."""

READ = {
    "a name that is read elsewhere": "import calc\ndef f():\n    return made\nmade = calc.withhold()\nif f(): 1",
    "a name that is counted up": "import calc\nmade = calc.withhold()\ntry:\n    made += 1\nexcept TypeError:\n    1",
    "a field of a class": "import calc\nclass A:\n    made = calc.withhold()\n1 if A.made is None else 2",
    "a gather of its own": "import calc\ndef gather(made):\n    if made: calc.echo(1)\ngather(calc.withhold())",
    "the result": "import calc\nresult = calc.withhold()\nif result: 1",
    "a default": "import calc\ndef f(made=calc.withhold()):\n    return made is None\nif f(): 1",
    "a return": "import calc\ndef f():\n    return calc.withhold()\n1 if f() else 2",
    "a lambda": "import calc\nf = lambda: calc.withhold()\n1 if f() else 2",
    "a walrus": "import calc\n(made := calc.withhold())\nif made: 1",
    "a loop": "import calc\nwhile calc.withhold():\n    break",
    "with": "import calc\nwith calc.withhold() as made:\n    1",
    "evaluated": "import calc\nmade = calc.withhold()\nif eval('made'): 1",
}
"""Programs that look at an answer which is not known, in ways that a text does not show at once."""

STOPPED = {
    "a branch": "if made: 1",
    "a field in a branch": "if made['state'] == 'open': 1",
    "not": "1 if not made.number else 2",
    "or": "made.number or 1",
    "is": "1 if made is None else 2",
    "is not": "[n for n in [made] if n is not None]",
    "a comparison": "made.number > 5",
    "a comparison from the other side": "5 < made.number",
    "a calculation": "made.number + 1",
    "a sum": "sum([made.number])",
    "a text": "f'see #{made.number}'",
    "a joined text": "'see ' + made.title",
    "str": "str(made.number)",
    "a format": "'{}'.format(made)",
    "printing": "print(made.number)",
    "its length": "len(made)",
    "a loop": "for each in made: pass",
    "unpacking": "one, two = made",
    "keys": "list(made.keys())",
    "double stars": "dict(**made)",
    "a key": "{made.number: 1}",
    "a set": "{made.number}",
    "in": "made.number in [1, 2]",
    "in the other way": "1 in made.labels",
    "isinstance": "isinstance(made, dict)",
    "type": "type(made) is dict",
    "match": "match made:\n    case {'number': n}: n\n    case _: 0",
    "json": "import json\njson.dumps(made)",
    "int": "int(made.number)",
    "sorting": "sorted([made.number, made.id])",
    "a slice": "made.labels[:2]",
    "an index": "[1, 2, 3][made.number]",
    "caught": "try:\n    made.number + 1\nexcept Exception:\n    calc.echo(1)",
    "caught in a loop": "for n in range(2):\n    try:\n        if made: break\n    except Exception:\n        pass",
}
"""What a plan cannot go beyond."""

LACKING = {
    "a field": "made['idd']",
    "an attribute": "made.idd",
    "get": "made.get('idd')",
    "a field of a field": "made.user.idd",
    "caught": "try:\n    made.idd\nexcept Exception:\n    calc.echo(1)",
    "as the result": "result = {'made': [made.idd]}",
}
"""What reads a part that the answer does not have: it is told there, whatever the program does with it."""

CODE = {what: _BEGIN + code for what, code in STOPPED.items()}
VALUES = {what: (_BEGIN + code, value) for what, (code, value) in HANDING_ON.items()}
