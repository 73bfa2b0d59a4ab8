"""The host's connections to sandboxes: frames both ways, output, and their bounds.

Never what a program means by a message.
"""
