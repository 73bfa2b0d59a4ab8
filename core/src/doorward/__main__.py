"""`python -I -m doorward`: the command line, from an environment that no variable and no folder can change."""

from doorward.cli import main

main()
