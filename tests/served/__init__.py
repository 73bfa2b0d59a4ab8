"""The served product end to end, with real processes. A package of its own name: that of `core/tests` is `tests`."""
