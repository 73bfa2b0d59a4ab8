"""The files of journals: their frames, sealed and locked, and which there are, found, listed and forgotten.

Never what the frames of a call mean.
"""
