"""The command `doorward plugin`: writes a new plugin (`new`), and checks any plugin (`check`).

Never what a test needs: that is in the modules beside this folder.
"""
