"""`python -I -m doorward`: the command line, from an environment that no variable and no folder can change."""

import sys
from importlib.metadata import entry_points

for script in entry_points(group="console_scripts", name="doorward"):
    sys.exit(script.load()())

from doorward.config.install_hints import brought  # noqa: E402

sys.exit(f"error: the command line is not installed\nhint: {brought('cli')}")
