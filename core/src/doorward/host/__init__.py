"""The machine and the network that Doorward runs on: files, logs, processes, addresses, connections.

Never anything that knows what a server or a program is.
"""
