"""The code that is sent into a jail and runs there, on Python 3.9 and its standard library alone."""
