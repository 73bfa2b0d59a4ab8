"""A plugin in 20 lines: a source that makes a folder of notes a server with one function, `find`.

To install it, put it into a package with this in `pyproject.toml`, and `pip install` that:

    [project.entry-points."doorward.source"]
    notes = "plugin_in_20_lines:Notes"

Then `doorward.toml` may say `[servers.diary]`, `source = "notes"`, `path = "notes"`, and programs `import diary`.
"""

from pathlib import Path

from doorward import Call, Compiled, Function, ServerContext, Settings


class NotesSettings(Settings):
    path: Path


class Notes:
    Settings = NotesSettings

    def __init__(self, server: ServerContext[NotesSettings]) -> None:
        self.name, self.folder = server.name, server.folder / server.settings.path

    async def fingerprint(self) -> str:
        return "1"  # Nothing is read to compile, so nothing can change.

    async def compile(self) -> Compiled:
        words = {"words": {"type": "string"}}
        schema = {"type": "object", "properties": words, "required": ["words"], "additionalProperties": False}
        summary = "Find notes that hold these words"
        return Compiled([Function(self.name, "find", summary=summary, parameters=schema, read_only=True)])

    async def call(self, call: Call) -> list[str]:
        words, files = call.arguments["words"], sorted(self.folder.glob("*.md"))
        return [file.name for file in files if words in file.read_text(encoding="utf-8")]

    async def close(self) -> None: ...
