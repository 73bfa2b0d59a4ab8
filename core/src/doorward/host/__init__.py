"""The machine and the network that Doorward runs on: files, logs, processes, addresses.

Never anything that knows what a server or a program is.
"""
