"""The words of Doorward as frozen dataclasses and protocols, and its errors.

Never anything that reads, writes or decides: this room imports nothing of ours.
"""
