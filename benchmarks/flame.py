"""Programs of 500 calls of a loopback API, one after another, for as many seconds as the first argument says: what
`flames/` shows. `py-spy record --rate 200 --output FILE.svg -- python benchmarks/flame.py 10`"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import anyio
from common import Project
from doorward import Gateway
from doorward.config.config import load
from program import ONE_BY_ONE, api


async def main(folder: Path) -> None:
    with api(folder / "api") as (url, spec):
        server = f'[servers.loop]\nsource = "openapi"\nspec = "{spec}"\nbase_url = "{url}"\n'
        async with Gateway.open(load(Project(folder / "project", server).config)) as gate:
            end = time.monotonic() + float(sys.argv[1])
            while time.monotonic() < end:
                outcome = await gate.execute(ONE_BY_ONE.format(count=500))
                assert outcome.ok, outcome.error


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="doorward-flame-") as made:
        anyio.run(main, Path(made))
