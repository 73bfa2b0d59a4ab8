"""The machine and the network that Doorward runs on: files, logs, processes, addresses; and a store in memory, where no
engine is installed.

Never anything that knows what a server or a program is.
"""
