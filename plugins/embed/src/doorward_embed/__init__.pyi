# `make reference` writes this file.
from doorward_embed.toolbox import Tool as Tool
from doorward_embed.toolbox import Toolbox as Toolbox
from doorward_embed.toolbox import open_tools as open_tools
from doorward_embed.wrapping import Wrapped as Wrapped
from doorward_embed.wrapping import wrap as wrap

__all__ = [
    "Tool",
    "Toolbox",
    "Wrapped",
    "open_tools",
    "wrap",
]
