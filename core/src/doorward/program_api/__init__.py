"""What `import doorward` offers to programs.

Never how a sandbox gets it.
"""
