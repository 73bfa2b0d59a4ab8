"""What is installed here: the index of plugins, and what to install for what is not.

Never what the configuration says of them.
"""
