"""Values and texts of any size and origin as data: written, cleaned, measured, cut.

Never where they come from, who may see them, or what is written in a program: that its executor reads.
"""
