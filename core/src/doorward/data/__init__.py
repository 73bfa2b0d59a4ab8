"""Values, texts and programs of any size and origin as data: read, written, cleaned, measured, cut.

Never where they come from, who may see them, or how a program runs.
"""
