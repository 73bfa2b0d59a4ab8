"""One run, from code to outcome, and what `import doorward` offers to its program.

Never how code is isolated.
"""
