"""The texts about Doorward itself that agents read.

A test counts their tokens. They do not grow with the number of functions; only the direct tools that the operator has
configured, and what plugins say, add to them.
"""

from __future__ import annotations

from collections.abc import Collection

from doorward import Gateway
from doorward.administration import some

PYTHON = "python"
"""The language of programs about which nothing is said."""

STANDARD = """\
Doorward gives you functions of APIs and MCP servers to use from Python, in a sandbox without network or credentials.
1. search_functions(query) finds functions (list_servers shows what there is).
2. get_functions(["server.function"]) shows signature, response type and example. Always look before you call.
3. execute_code runs Python: `import server`, call `server.function(name=value)`, loop, filter, combine; \
asyncio.gather runs calls in parallel. Set `result`, small. `import doorward`: doorward.pages(server.function) gives \
whole answers, one a page, doorward.items what is in them, doorward.reply value, status and headers; doorward.ApiError \
has status and body; get_functions(["doorward"]) lists all helpers.
4. Files are handles, {"artefact": …}: pass them on, or {"content", "name", "type"}. doorward.read(handle) is the \
content, doorward.path(handle) a path. What is in ./out, open figures and bytes in `result` are kept and shown.
5. The answer has a cache_id: run_cached_code(cache_id, params) runs the program again with other values for its \
top-level literals, so write inputs as such: `city = "Oslo"`.
Do many steps in one program rather than many."""

MINIMAL = """\
execute_code runs Python in a sandbox without network or credentials. In it, `import doorward`: doorward.servers(), \
doorward.search("words"), doorward.describe("server.function"), doorward.call("server.function", {...}), \
doorward.pages("server.function", {...}), doorward.capabilities(), help(doorward); doorward.ApiError has status, body. \
Files are handles: pass them on, or doorward.read(handle); ./out and figures are kept. Search and describe first, then \
`import server` and call server.function(name=value). Set `result` to what you need, small."""

CALLS = """\
Doorward gives you functions of APIs and MCP servers; it adds the credentials.
1. search_functions(query) finds functions.
2. get_functions(["server.function"]) shows arguments, answer and an example. Always look before you call.
3. call_function({"function": "server.function", "arguments": {…}}) calls one, with arguments as JSON.
4. A large answer is cut, and names a cursor: call_function with it reads all of it, page by page. Better ask for \
less: filters, fields, page sizes.
5. Files are handles, {"artefact": …}: pass them on as arguments, or {"content", "name", "type"}; read them by cursor.
6. get_functions(["doorward"]) lists the servers, and helpers: all pages of a function, resources and prompts."""
"""For the surface without code."""

STANDARD_TYPESCRIPT = """\
Doorward gives you functions of APIs and MCP servers to use from TypeScript, in a sandbox without network or \
credentials.
1. search_functions(query) finds functions (list_servers shows what there is).
2. get_functions(["server.function"]) shows declaration, response type and example. Always look before you call.
3. execute_code runs TypeScript: `import * as server from "server"`, `await server.function({ name: value })`, loop, \
filter, combine; Promise.all runs calls in parallel. Set `const result`, small. \
`import * as doorward from "doorward"`: doorward.pages("server.function", { name: value }) gives whole answers, one a \
page, doorward.items what is in them, doorward.reply value, status and headers; doorward.ApiError has status and body; \
get_functions(["doorward"]) lists all helpers.
4. Files are handles, {"artefact": …}: pass them on, or {"content", "name", "type"}. doorward.read(handle) is the \
content.
5. The answer has a cache_id: run_cached_code(cache_id, params) runs the program again with other values for its \
top-level literals, so write inputs as such: `const city = "Oslo"`.
Do many steps in one program rather than many."""
"""The same where no executor runs Python."""

MINIMAL_TYPESCRIPT = """\
execute_code runs TypeScript in a sandbox without network or credentials. In it, \
`import * as doorward from "doorward"`, and await doorward.servers(), doorward.search("words"), \
doorward.describe("server.function"), doorward.call("server.function", {...}), \
doorward.pages("server.function", {...}), doorward.capabilities(); doorward.ApiError has status, body. Files are \
handles: pass them on, or doorward.read(handle). Search and describe first, then `import * as server from "server"` \
and `await server.function({ name: value })`. Set `const result` to what you need, small."""

REUSE = """\
# Writing programs that can be run again

A program that succeeded is kept. `run_cached_code(cache_id, params)` runs it with other parameters: no code is sent or
written again.

- **Parameters are top-level literals.** `city = "Oslo"`, `days: int = 3`, `ids = [1, 2]`. A new value must have the \
same
  JSON type. Assign each name once.
- **Say what varies, compute the rest.** Derive everything else from the parameters further down.
- **The value is `result`** (or the last expression). `main()` is not called for you: write `result = main()`.
- **Return little.** Filter and aggregate in the program; a large value is cut and kept: \
`doorward.read("doorward://results/…")`
  reads all of it in another program.
- **A file is a parameter, too.** `report = ""` takes a handle; in the program it is the file's path, or its URI where \
there are no files.
- **Give a general description**, such as "forecast for a city", so that it is found again.

```python
import weather

city = "Oslo"
days = 3

forecast = weather.get_forecast(city=city, days=days)
result = {"city": city, "warmest": max(day["high"] for day in forecast["days"])}
```

Then: `run_cached_code("<cache_id>", {"city": "Rome", "days": 5})`.
"""


def in_words_of(gate: Gateway, text: str) -> str:
    """One of our texts for agents; that of the same sense for TypeScript where no executor runs Python. Where one has a
    network, none says that there is none."""
    others = {STANDARD: STANDARD_TYPESCRIPT, MINIMAL: MINIMAL_TYPESCRIPT}
    if gate.languages.default != PYTHON:
        text = others.get(text, text.replace("Python", "TypeScript"))
    if any(each.get("network") for each in gate.executors.describe()):
        text = text.replace("without network or credentials", "without credentials")
    return text


def instructions(gate: Gateway, exposed: Collection[str], principal: str) -> str | None:
    """The first thing that the agent of a principal reads. The `exposed` functions are named, too."""
    surface = gate.surface(principal)
    managed = gate.loaded.managed
    parts = [managed.branding.instructions] if managed and managed.branding.instructions else []
    parts += [in_words_of(gate, STANDARD)] if surface == "standard" else [CALLS] if surface == "calls" else []
    if exposed:
        more = "" if surface == "calls" else " Prefer execute_code for more."
        parts.append(f"# Direct API Tools\nFor a single call there are tools: {some([*exposed], 400)}.{more}")
    return "\n\n".join(parts) or None
