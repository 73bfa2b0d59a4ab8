"""Values and texts of any size and origin: read, written, cleaned, measured, cut.

Never where they come from, nor who may see them.
"""
