"""The journals of runs: what a run was given, the calls that it made and their answers, stored and fed to it again.

Never how a call is made, nor whether it may be.
"""
