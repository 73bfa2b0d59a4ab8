"""Draws the pictures of the pages as SVG: the recordings, and the README's chart of figures in benchmarks/README.md.

`python docs/pictures/draw.py` writes them beside this file. Each follows the reader's choice of light or dark, loads
nothing, and does not move where the reader wants no motion. `tests/test_pictures.py` compares what this draws.
"""

from __future__ import annotations

import io
import json
import re
from html import escape
from itertools import accumulate
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

HERE = Path(__file__).resolve().parent
FIGURES = HERE.parent.parent / "benchmarks/README.md"
LIGHT, DARK = ("#ffffff", "#1f2328"), ("#0d1117", "#e6edf3")
"""Background and text."""
ON_LIGHT = ["#57606a", "#cf222e", "#116329", "#8a5a00", "#0969da", "#8250df", "#1b7c83", "#6e7781"]
ON_DARK = ["#8b949e", "#ff7b72", "#3fb950", "#d29922", "#58a6ff", "#bc8cff", "#39c5cf", "#b1bac4"]
PARTS = "\0".join(f"{{{name}}}" for name in ("styles", "backgrounds", "matrix"))
WIDTH, LINE = 12.2, 24.4
"""Of a character, as rich draws it."""
TOP, LEFT = 42, 14
TOKENS = "Tokens that a model reads before its first call"


def theme(colours: tuple[str, str], ansi: list[str]) -> TerminalTheme:
    background, text, *palette = ((int(c[1:3], 16), int(c[3:5], 16), int(c[5:], 16)) for c in (*colours, *ansi))
    return TerminalTheme(background, text, palette, palette)


def terminal(text: str, columns: int, colours: tuple[str, str], ansi: list[str]) -> list[str]:
    """The styles, backgrounds and texts of all lines, drawn by rich; shorter, as no line is longer than its screen."""
    console = Console(record=True, width=columns, file=io.StringIO(), force_terminal=True, legacy_windows=False)
    console.print(Text.from_ansi(text), soft_wrap=False, highlight=False)
    drawn = console.export_svg(code_format=PARTS, theme=theme(colours, ansi), unique_id="t", title="")
    return (
        re.sub(r' clip-path="[^"]+"', "", drawn).replace("&#160;", "\N{NO-BREAK SPACE}").replace("t-r", "t").split("\0")
    )


def lines_of(text: str, columns: int) -> int:
    """The rows that a text takes on the screen."""
    plain = re.sub(r"\x1b\[[\d;]*m", "", text)
    return sum(max(1, -(-len(line) // columns)) for line in plain.removesuffix("\n").split("\n"))


def recording(cast: str, still: slice | None = None) -> str:
    """A recording as SVG: frame after frame in a terminal of its height, or some frames at once."""
    head, *events = map(json.loads, cast.splitlines())
    moves, events = not still, events[still or slice(None)]
    columns, frames = head["width"], [event[2].replace("\r\n", "\n") for event in events]
    text = "".join(frames).rstrip("\n")
    styles, backgrounds, matrix = terminal(text, columns, LIGHT, ON_LIGHT)
    dark_styles, _, as_dark = terminal(text, columns, DARK, ON_DARK)
    assert matrix == as_dark, "the two palettes join other colours"
    ends = [*accumulate(lines_of(frame, columns) for frame in frames)]
    rows = head["height"] if moves else ends[-1]
    width, height = columns * WIDTH + 2 * LEFT, rows * LINE + TOP + 12
    motion = moving([event[0] for event in events], ends, rows) if moves else ""
    cover = f'<rect class="cover back" width="{width:g}" height="{ends[-1] * LINE:g}"/>' if moves else ""
    return f"""\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}">
<style>
.t-matrix {{ font: 20px ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace }}
{sides("stroke: #d0d7de", "stroke: #30363d")}
{styles}
@media (prefers-color-scheme: dark) {{
{dark_styles}
}}
{motion}</style>
<clipPath id="screen"><rect y="3" width="{columns * WIDTH:g}" height="{rows * LINE:g}"/></clipPath>
<rect class="back edge" x="1" y="1" width="{width - 2:g}" height="{height - 2:g}" rx="8"/>
<g transform="translate(26 22)"><circle r="7" fill="#ff5f57"/>
<circle cx="22" r="7" fill="#febc2e"/><circle cx="44" r="7" fill="#28c840"/></g>
<g transform="translate({LEFT} {TOP})" clip-path="url(#screen)"><g class="scroll">
{backgrounds}<g class="t-matrix">
{matrix.replace("<text", chr(10) + "<text").lstrip()}
</g>
{cover}</g></g>
</svg>
"""


def sides(light: str, dark: str) -> str:
    """The styles of a picture that follows the reader's choice."""
    return f"""\
.back {{ fill: {LIGHT[0]} }} .edge {{ {light} }} .text {{ fill: {LIGHT[1]} }}
@media (prefers-color-scheme: dark) {{ .back {{ fill: {DARK[0]} }} .edge {{ {dark} }} .text {{ fill: {DARK[1]} }} }}"""


def moving(starts: list[float], ends: list[int], rows: int) -> str:
    """The styles that show frames in turn: later ones are covered, earlier ones scroll away."""
    seconds = starts[-1] + 3
    at = [round(100 * start / seconds, 2) for start in starts]
    reveal = " ".join(f"{a}% {{ transform: translateY({end * LINE:g}px) }}" for a, end in zip(at, ends, strict=True))
    up = [-max(0, end - rows) * LINE for end in ends]
    scroll = "".join(
        f"{a}% {{ transform: translateY({before:g}px) }} {a + 2:g}% {{ transform: translateY({now:g}px) }} "
        for a, before, now in zip(at, [0.0, *up], up, strict=False)
    )
    return f"""\
.cover {{ transform: translateY({ends[-1] * LINE:g}px); animation: reveal {seconds:g}s step-end infinite }}
.scroll {{ transform: translateY({up[-1]:g}px); animation: scroll {seconds:g}s infinite }}
@keyframes reveal {{ {reveal} }}
@keyframes scroll {{ {scroll}100% {{ transform: translateY({up[-1]:g}px) }} }}
@media (prefers-reduced-motion: reduce) {{ .cover, .scroll {{ animation: none }} }}
"""


def figures(heading: str, row: str) -> dict[str, str]:
    """The cells of a row by their columns, in the first table below a heading of benchmarks/README.md."""
    table = (
        FIGURES.read_text(encoding="utf-8").partition(f"\n### {heading}")[2].partition("\n|")[2].partition("\n\n")[0]
    )
    columns, _, *rows = [[cell.strip(" *") for cell in line.strip("|").split("|")] for line in table.splitlines()]
    return next(dict(zip(columns, cells, strict=True)) for cells in rows if cells[0] == row)


def chart() -> str:
    """Two pairs of bars: what a model reads before it calls anything, and how long a program of 1,000 calls takes."""
    tokens = figures("Functions of GitHub as tools", "1,000")
    calls = figures("FastMCP's code mode beside it", "1,000 calls")
    peer = next(name for name in calls if name.startswith("fastmcp"))
    direct, ours = (float(tokens[name].replace(",", "")) for name in ("each a tool", "Doorward, with instructions"))
    version = peer.removeprefix("fastmcp ")
    theirs, mine = (float(calls[name].partition(" /")[0]) for name in (peer, "doorward"))
    before = pair(36, f"{TOKENS}: 1,000 functions of GitHub", ("each function a tool", direct, ""), ours)
    long = pair(
        190, "A program of 1,000 calls of an API, median", (f"FastMCP {version}, code mode", theirs, " ms"), mine
    )
    return f"""\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 820 330">
<style>
text {{ font: 15px system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif }}
.title {{ font-weight: 600; font-size: 17px }} .number {{ font-weight: 600 }}
.ours {{ fill: #0969da }} .theirs {{ fill: #8c959f }}
{sides("stroke: #d0d7de", "stroke: #30363d")}
@media (prefers-color-scheme: dark) {{ .ours {{ fill: #58a6ff }} .theirs {{ fill: #6e7681 }} }}
</style>
<rect class="back edge" x="1" y="1" width="818" height="328" rx="8"/>
{before}
{long}
</svg>
"""


def pair(top: int, title: str, peer: tuple[str, float, str], ours: float) -> str:
    name, theirs, unit = peer
    bars = [text(24, top, "title text", title)]
    for n, (label, value, kind) in enumerate(((name, theirs, "theirs"), ("Doorward", ours, "ours"))):
        y, length = top + 22 + n * 46, max(3.0, 440 * value / max(theirs, ours))
        bars.append(text(24, y + 21, "text", label))
        bars.append(f'<rect class="{kind}" x="232" y="{y}" width="{length:.1f}" height="30" rx="3"/>')
        bars.append(text(round(242 + length), y + 21, "number text", f"{value:,.0f}{unit}"))
    return "\n".join(bars)


def text(x: int, y: int, kind: str, said: str) -> str:
    return f'<text class="{kind}" x="{x}" y="{y}">{escape(said)}</text>'


def pictures() -> dict[str, str]:
    """Each picture by its file."""
    casts = {name: (HERE / f"{name}.cast").read_text(encoding="utf-8") for name in ("demo", "approval")}
    return {
        "demo.svg": recording(casts["demo"]),
        "approval.svg": recording(casts["approval"]),
        "request.svg": recording(casts["approval"], slice(4, 8)),
        "figures.svg": chart(),
    }


if __name__ == "__main__":
    for name, svg in pictures().items():
        (HERE / name).write_text(svg, encoding="utf-8")
