"""Plans: the writes that a program would make, withheld until a person agrees to all of them.

Never who agrees, and never how a program is run.
"""
