"""What principals have used of their budgets, and whether more is left.

Never what a single run may use: those are its limits.
"""
