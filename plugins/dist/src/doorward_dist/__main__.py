"""`python -I -m doorward_dist verify`: the same commands where `doorward` refuses to load any, and says only why."""

import sys

import click
from doorward import DoorwardError

from doorward_dist.command import dist

try:
    sys.exit(dist.main(prog_name="doorward_dist", standalone_mode=False))
except click.ClickException as error:
    error.show()
    sys.exit(error.exit_code)
except DoorwardError as error:
    click.echo(f"error: {error}\nhint: {error.hint}" if error.hint else f"error: {error}", err=True)
    sys.exit(2)
