"""An organisation's own distribution of Doorward: what it pins, brings and locks, and the command `doorward dist`.

At a start, before any plugin is imported: `distribution` finds the active one, `pinned_files` compares what is
installed, `manifest` is what it says and `locked` what nobody may change; `seals` vouches for the catalog.

For the command: `source` reads `distribution.toml`, `settings` checks its tables by the models of plugins, `wheels`
gets and reads wheels, `build` makes the distribution's wheel, `lock` what pins everything below it, `image` a
Dockerfile. `show` and `verify` look at what is installed.
"""
