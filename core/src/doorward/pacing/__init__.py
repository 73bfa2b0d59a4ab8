"""Keeping to the limits that servers tell: requests that wait for their turn.

Never a limit of ours.
"""
