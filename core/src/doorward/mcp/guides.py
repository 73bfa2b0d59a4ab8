"""What an agent reads about Doorward itself. Constant, however many functions there are; counted in tokens."""

from __future__ import annotations

MOST = 2048
"""Characters of the instructions: clients cut them there."""

STANDARD = """\
Doorward gives you functions of APIs and MCP servers to use from Python, in a sandbox without network or credentials.
1. search_functions(query) finds functions (list_servers shows what there is).
2. get_functions(["server.function"]) shows signature, response type and example. Always look before you call.
3. execute_code runs Python: `import server`, call `server.function(name=value)`, loop, filter, combine; `await` and \
asyncio.gather run calls in parallel. Set `result` (or end with an expression) to what you need, small.
4. The answer has a cache_id: run_cached_code(cache_id, params) runs the program again with other values for its \
top-level literals, so write inputs as such: `city = "Oslo"`.
Do many steps in one program rather than many programs."""

MINIMAL = """\
execute_code runs Python in a sandbox without network or credentials. In it, `import doorward`: doorward.servers(), \
doorward.search("words"), doorward.describe("server.function"), doorward.call("server.function", {...}), doorward.capabilities(). \
Search and describe first, then `import server` and call server.function(name=value). Set `result` to what you need, small."""

REUSE = """\
# Writing programs that can be run again

A program that succeeded is kept. `run_cached_code(cache_id, params)` runs it with other parameters: no code is sent or
written again.

- **Parameters are top-level literals.** `city = "Oslo"`, `days: int = 3`, `ids = [1, 2]`. A new value must have the same
  JSON type. Assign each name once.
- **Say what varies, compute the rest.** Derive everything else from the parameters further down.
- **The value is `result`** (or the last expression). `main()` is not called for you: write `result = main()`.
- **Return little.** Filter and aggregate in the program; a large value is cut and kept under `doorward://results/…`.
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
