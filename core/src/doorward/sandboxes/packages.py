"""Packages that programs often import, each under the name by which it is installed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

_RENAMED = {
    "bs4": "beautifulsoup4",
    "cv2": "opencv-python-headless",
    "dateutil": "python-dateutil",
    "docx": "python-docx",
    "fitz": "pymupdf",
    "PIL": "pillow",
    "pptx": "python-pptx",
    "skimage": "scikit-image",
    "sklearn": "scikit-learn",
    "yaml": "pyyaml",
}
_AS_THEY_ARE = [
    "aiohttp", "attrs", "duckdb", "httpx", "httpx2", "jinja2", "lxml", "markdown", "matplotlib", "msgpack",
    "networkx", "numpy", "openpyxl", "orjson", "pandas", "plotly", "polars", "psutil", "pyarrow", "pydantic",
    "pypdf", "pytz", "requests", "rich", "scipy", "seaborn", "statsmodels", "sympy", "tabulate", "tqdm", "urllib3",
    "websockets", "xlrd", "xlsxwriter",
]  # fmt: skip
DISTRIBUTIONS: Mapping[str, str] = _RENAMED | {name: name for name in _AS_THEY_ARE}
"""Import names, each with its distribution. A hint names no other: a program may import any name, and
anybody can publish a package that is called so."""


def modules_of(requirements: Iterable[str]) -> frozenset[str]:
    """The import names of packages that are required as for pip: `httpx[http2]>=0.27` is `httpx`."""
    names = {re.split(r"[^\w.-]", requirement, maxsplit=1)[0].lower().replace("_", "-") for requirement in requirements}
    renamed = {module for module, distribution in _RENAMED.items() if distribution in names}
    return frozenset(renamed | {name.replace("-", "_") for name in names})
