"""What principals have used of their budgets, and of the runs that they may start in a minute, in all processes.

Never what a single run may use: those are its limits.
"""
