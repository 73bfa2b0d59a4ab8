"""The words of Doorward as frozen dataclasses and protocols, and its errors.

Never anything that reads, writes or decides: this package imports nothing of ours.
"""
