"""Whether a command line would start Doorward itself: directly, by a path, or through what starts programs for others.

An entry of a configuration that does would start a server that starts a server. Only programs are looked at, never their
arguments: a folder named `doorward` is no Doorward.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PureWindowsPath

_OURS = "doorward"
_STEPS = 64
"""Commands within commands that are looked into."""

_ASSIGNMENT = re.compile(r"\w+=", re.ASCII)
_PYTHONS = re.compile(r"(python|pythonw|pypy|py)[\d.]*t?")
_SPECIFIED = re.compile(r"[@\[<>=~!;:# ]")
_IMPORTED = re.compile(rf"\b(from|import)\s+{_OURS}\b")


@dataclass(frozen=True, slots=True)
class _Starter:
    """A program that starts another. `words` may stand before the other one (`uv tool run`); these `options` take a value
    (`all` but those: for programs that have too many); so many words come before the command; the values of `code` are
    command lines themselves."""

    words: str = ""
    options: str = ""
    all_but: str = ""
    before: int = 0
    code: str = ""

    def takes(self, option: str) -> bool:
        return option not in self.all_but.split() if self.all_but else option in f"{self.options} {self.code}".split()


_INDEX = " ".join(["-i", "--index-url", "--extra-index-url"])
_UV = (
    f"{_INDEX} --from --with --with-editable --with-requirements -w --python -p --index --default-index -f "
    "--find-links --directory --project --config-file --env-file --cache-dir -c --constraints -b --build-constraints --overrides "
    "--refresh-package --extra --group --only-group --no-group --package --color --index-strategy --keyring-provider -P "
    "--upgrade-package --reinstall-package --prerelease --resolution --link-mode --exclude-newer -C --config-setting"
)
_NPM = "-p --package -w --workspace --prefix --userconfig --registry --cache --loglevel"
_SHELL = _Starter(options="-o -O +O --rcfile --init-file", code="-c")
_PLAIN = _Starter()
_PYTHON = _Starter(options="-W -X -m --check-hash-based-pycs", code="-c")
_DOCKER = _Starter(
    words="container compose run exec",
    all_but="-i -t -d -P -q -T --interactive --tty --detach --rm --init --privileged --read-only --publish-all --quiet "
    "--no-healthcheck --oom-kill-disable --sig-proxy --disable-content-trust --debug --tls --tlsverify --no-deps --build",
)
_STARTERS = {
    **dict.fromkeys(["nohup", "setsid", "command", "which", "time", "then", "do", "if", "else", "!", "dumb-init", "tini"], _PLAIN),
    **dict.fromkeys(["sh", "bash", "zsh", "dash", "ksh", "ash", "fish", "busybox"], _SHELL),
    **dict.fromkeys(("docker", "podman", "nerdctl"), _DOCKER),
    **dict.fromkeys(("powershell", "pwsh"), _Starter(options="-ExecutionPolicy -File", code="-Command -c")),
    **dict.fromkeys(("poetry", "pdm", "rye", "hatch", "pixi"), _Starter("run", "-C -P -p --project --directory -e --env")),
    **dict.fromkeys(("bunx", "pnpx"), _Starter(options="-p --package")),
    "bun": _Starter("x run", "--cwd"),
    "conda": _Starter("run", "-n --name -p --prefix --cwd"),
    "direnv": _Starter("exec", before=1),
    "doas": _Starter(options="-u -C"),
    "env": _Starter(options="-u --unset -C --chdir -a --argv0 -P", code="-S --split-string"),
    "exec": _Starter(options="-a"),
    "ionice": _Starter(options="-c -n -p"),
    "mise": _Starter("exec x run", "-C --cd"),
    "nice": _Starter(options="-n --adjustment"),
    "npm": _Starter("exec x", _NPM, code="-c --call"),
    "npx": _Starter(options=_NPM, code="-c --call"),
    "pipx": _Starter("run", f"{_INDEX} --spec --python --pip-args --with"),
    "pnpm": _Starter("dlx exec", "--package -C --dir --filter", code="-c"),
    "stdbuf": _Starter(options="-i -o -e --input --output --error"),
    "sudo": _Starter(options="-u -g -h -p -C -D -R -T -U -r -t --user --group --host --prompt --chdir --chroot"),
    "timeout": _Starter(options="-s --signal -k --kill-after", before=1),
    "uv": _Starter("tool run x", f"{_UV} -m --module"),
    "uvx": _Starter(options=_UV),
    "yarn": _Starter("dlx exec run", "-p --package --cwd"),
}


def starts_doorward(command: Sequence[str]) -> bool:
    """Whether this command line starts Doorward, also through `uvx`, `npx`, `python -m`, `env`, a shell, a container, a path
    or a link. What cannot be told by looking (a script of one's own) is not found. Nothing is run, and no file is read.
    """
    todo = [list(command)]
    for _ in range(_STEPS):
        if not todo:
            return False
        words = todo.pop()
        while words and (_ASSIGNMENT.match(words[0]) or words[0] == "--"):
            words.pop(0)
        if not words:
            continue
        if _is_ours(words[0]):
            return True
        program = _program(words[0])
        if program == "cmd":
            todo.append([word for word in words[1:] if not re.fullmatch(r"/\w", word)])
            continue
        starter = _PYTHON if _PYTHONS.fullmatch(program) else _STARTERS.get(program)
        if starter is None:
            continue
        values, rest, own = _taken(starter, words[1:])
        if starter is _DOCKER:
            images = rest[:1] if "run" in own else []
            if any(map(_is_ours, [*images, *(value for option, value in values if option == "--entrypoint")])):
                return True
            todo += [rest[1:]] if "serve" in rest else []  # without it, these may be arguments of the image's own program
            continue
        code = [value for option, value in values if option in starter.code.split()]
        modules = [value.partition(".")[0] for option, value in values if option in ("-m", "--module")]
        if starter is _PYTHON and any(map(_IMPORTED.search, code)):
            return True
        todo += [[module, *rest] for module in modules]
        todo += [line for value in code for line in _commands(value)]
        todo += [] if code or modules else [rest[starter.before :]]
    return False


def _is_ours(word: str) -> bool:
    """Whether this is our command, a path or a link to it, or a package of that name, as `doorward[all]==1.0`."""
    if _program(word) == _OURS:
        return True
    found = shutil.which(word) if len(word) < 4096 and "\0" not in word else None
    return found is not None and _program(os.path.realpath(found)) == _OURS


def _program(word: str) -> str:
    name = PureWindowsPath(word[-4096:]).name.lower()  # knows both kinds of slashes
    return re.sub(r"\.(exe|cmd|bat|git|pyz)$", "", _SPECIFIED.split(name)[0])


def _taken(starter: _Starter, words: list[str]) -> tuple[list[tuple[str, str]], list[str], set[str]]:
    """The options with values, what is behind the options, and the starter's own words among them."""
    values: list[tuple[str, str]] = []
    own: set[str] = set()
    index = 0
    while index < len(words):
        word = words[index]
        index += 1
        if word in starter.words.split():
            own.add(word)
        elif word == "--":
            break
        elif not word.startswith(("-", "+")) or word == "-":
            index -= 1
            break
        elif option := _valued(starter, word):
            name, attached = option
            if attached is None:
                attached = words[index] if index < len(words) else ""
                index += 1
            values.append((name, attached))
    return values, words[index:], own


def _valued(starter: _Starter, word: str) -> tuple[str, str | None] | None:
    """The option in this word that takes a value, and the value if it is attached; `None`: there is none."""
    name, equals, value = word.partition("=")
    if starter.takes(name):
        return name, value if equals else None
    if word.startswith("--"):
        return None
    for place, letter in enumerate(word[1:20], 1):  # -it, -lc, -Xutf8
        if starter.takes(f"-{letter}"):
            return f"-{letter}", word[place + 1 :] or None
    return None


def _commands(line: str) -> list[list[str]]:
    """The commands of a line for a shell."""
    reader = shlex.shlex(line[:10_000].replace("\n", " ; "), posix=True, punctuation_chars=True)
    reader.whitespace_split, reader.commenters = True, ""
    commands: list[list[str]] = [[]]
    try:
        for word in reader:
            if word.strip("();<>|&{}$`") == "":
                commands.append([])
            else:
                commands[-1].append(word.strip("`"))
    except ValueError:  # a quote without an end
        commands.append(line.split())
    return commands
