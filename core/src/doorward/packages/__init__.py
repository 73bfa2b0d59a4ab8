"""What is installed here: the index of plugins, and whether the files of packages are as they were installed.

Never what the configuration says of them.
"""
