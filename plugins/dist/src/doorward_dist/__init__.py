"""The command `doorward dist`: builds, shows and verifies an organisation's own distribution of Doorward.

`source` reads `distribution.toml`, `settings` checks its tables by the models of plugins, `wheels` gets and reads
wheels, `build` makes the distribution's wheel, `lock` what pins everything below it, `image` a Dockerfile. `show` and
`verify` look at what is installed.
"""
