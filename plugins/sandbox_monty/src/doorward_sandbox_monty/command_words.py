"""`sys.argv` and `argparse` in Monty, which has no such module, and whose `sys.argv` cannot be set.

The words of a program are a variable, which stands in the place of `sys.argv`; a parser of the usual kinds of arguments
is written in Monty's Python. A program that uses more of argparse than `NAMES` is left to other executors.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from doorward_sandbox_monty.api_errors import OURS

ARGV, ARGPARSE = f"{OURS}argv", f"{OURS}argparse"
MENTIONED = re.compile(r"\b(?:argv|argparse)\b")

_FORMATTERS = ("HelpFormatter", "RawDescriptionHelpFormatter", "RawTextHelpFormatter", "ArgumentDefaultsHelpFormatter")
NAMES = frozenset(("ArgumentParser", "Namespace", *_FORMATTERS))
_TOO_MUCH = re.compile(
    r"\badd_(?:subparsers|mutually_exclusive_group)\b|\bFileType\b|\b(?:parents|fromfile_prefix_chars)\s*="
)


def replacements(tree: ast.Module, code: str) -> Iterator[tuple[ast.expr | ast.stmt, str]]:
    """What takes the place of which nodes of a program."""
    nodes = [*ast.walk(tree)]
    parts = {node.attr for node in nodes if isinstance(node, ast.Attribute) and _is(node, "argparse")}
    parts |= {
        a.name for node in nodes if isinstance(node, ast.ImportFrom) and node.module == "argparse" for a in node.names
    }
    known = parts <= NAMES and not _TOO_MUCH.search(code)
    for node in nodes:
        match node:
            case ast.Attribute(attr="argv", ctx=ast.Load()) if _is(node, "sys"):
                yield node, ARGV
            case ast.ImportFrom(module="sys", names=[ast.alias(name="argv", asname=name)]):
                yield node, f"{name or 'argv'} = {ARGV}"
            case ast.Import(names=[ast.alias(name="argparse", asname=name)]) if known:
                yield node, f"{name or 'argparse'} = {ARGPARSE}"
            case ast.ImportFrom(module="argparse", names=names) if known:
                yield node, "; ".join(f"{each.asname or each.name} = {ARGPARSE}.{each.name}" for each in names)


def _is(node: ast.Attribute, module: str) -> bool:
    """Whether a node reads an attribute of this module."""
    return isinstance(node.value, ast.Name) and node.value.id == module


def prelude(code: str, argv: tuple[str, ...]) -> str:
    """What a rewritten program of these words needs; "" if it is nothing."""
    words = f"{ARGV} = {['program.py', *argv]!r}\n"
    return words + (_PARSER if ARGPARSE in code else "") if ARGV in code or ARGPARSE in code else ""


_PARSER = f"""
from typing import Any
class {OURS}Namespace:
    pass
class {OURS}ArgumentParser:
    def __init__(self, *args: Any, **options: Any) -> None:
        self.about: Any = options.get("description") or ""
        self.prog: Any = options.get("prog") or "program.py"
        self.rules: Any = []
        self.fixed: Any = {{}}
    def add_argument(self, *names: Any, **options: Any) -> None:
        long = [name for name in names if name.startswith("--")]
        bare = (long or [*names])[0].lstrip("-")
        optional = names[0].startswith("-")
        dest = options.get("dest") or (bare.replace("-", "_") if optional else bare)
        self.rules.append({{**options, "names": names, "dest": dest, "optional": optional}})
    def add_argument_group(self, *args: Any, **options: Any) -> Any:
        return self
    def set_defaults(self, **values: Any) -> None:
        self.fixed.update(values)
    def print_usage(self) -> None:
        told = []
        for rule in self.rules:
            name = rule["names"][0]
            takes = rule.get("action", "store") in ("store", "append") and rule["optional"]
            text = name + (" " + rule["dest"].upper() if takes else "")
            told.append(text if rule.get("required") or not rule["optional"] else "[" + text + "]")
        print("usage: " + " ".join([self.prog, *told]))
    def print_help(self) -> None:
        self.print_usage()
        if self.about:
            print(self.about)
        for rule in self.rules:
            print("  " + ", ".join(rule["names"]) + "  " + str(rule.get("help") or ""))
    def error(self, message: str) -> None:
        self.print_usage()
        print(self.prog + ": error: " + message)
        raise SystemExit("2")
    def value(self, rule: Any, text: Any) -> Any:
        name, kind = "/".join(rule["names"]), rule.get("type")
        found = text
        if kind is not None:
            try:
                found = kind(text)
            except (ValueError, TypeError):
                self.error("argument " + name + ": invalid value: " + repr(text))
        choices = rule.get("choices")
        if choices is not None and found not in choices:
            told = ", ".join([repr(choice) for choice in choices])
            self.error("argument " + name + ": invalid choice: " + repr(found) + " (choose from " + told + ")")
        return found
    def take(self, found: Any, rule: Any, words: Any, given: Any) -> None:
        dest, action = rule["dest"], rule.get("action", "store")
        if action == "store_true" or action == "store_false":
            found[dest] = action == "store_true"
            return
        if action == "store_const":
            found[dest] = rule.get("const")
            return
        if action == "count":
            found[dest] = (found.get(dest) or 0) + 1
            return
        nargs, values = rule.get("nargs"), [] if given is None else [given]
        most = 1 if nargs is None or nargs == "?" else nargs if isinstance(nargs, int) else 1000000
        while given is None and words and len(values) < most and (words[0] == "-" or not self.is_option(words[0])):
            values.append(words.pop(0).replace("\\0", ""))
        if nargs == "?" and not values:
            found[dest] = rule.get("const") if rule["optional"] else rule.get("default")
            return
        if (nargs is None or nargs == "+") and not values or isinstance(nargs, int) and len(values) < nargs:
            wanted = "one argument" if nargs is None else "more arguments"
            self.error("argument " + "/".join(rule["names"]) + ": expected " + wanted)
        read = [self.value(rule, text) for text in values]
        one = read[0] if nargs is None or nargs == "?" else read
        found[dest] = [*(found.get(dest) or []), one] if action == "append" else one
    def is_option(self, word: str) -> bool:
        if len(word) > 1 and word[0] == "-" and word[1:].replace(".", "").isdigit():
            return any(word in rule["names"] for rule in self.rules)
        return len(word) > 1 and word.startswith("-")
    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        words = [*({ARGV}[1:] if args is None else args)]
        found: Any = {{}}
        left: Any = []
        places = [rule for rule in self.rules if not rule["optional"]]
        while words:
            word = words.pop(0)
            if word == "--":
                words = ["\\0" + each for each in words]  # none of them is an option
                continue
            if not self.is_option(word):
                if places:
                    words.insert(0, word)
                    self.take(found, places.pop(0), words, None)
                else:
                    left.append(word.replace("\\0", ""))
                continue
            name, given = word, None
            if word.startswith("--") and "=" in word:
                name, _, given = word.partition("=")
            rules = [rule for rule in self.rules if name in rule["names"]]
            if not rules and name.startswith("--"):
                rules = [rule for rule in self.rules if any(each.startswith(name) for each in rule["names"])]
            if not rules and name in ("-h", "--help"):
                self.print_help()
                raise SystemExit
            if len(rules) > 1:
                self.error("ambiguous option: " + name)
            if rules:
                self.take(found, rules[0], words, given)
            else:
                left.append(word)
        needed = [
            rule for rule in self.rules
            if rule.get("required") or (not rule["optional"] and rule.get("nargs") not in ("?", "*"))
        ]
        missing = ["/".join(rule["names"]) for rule in needed if rule["dest"] not in found]
        if missing:
            self.error("the following arguments are required: " + ", ".join(missing))
        made = {OURS}Namespace() if namespace is None else namespace
        for rule in self.rules:
            dest, default = rule["dest"], rule.get("default")
            if dest not in found:
                if rule.get("action") in ("store_true", "store_false") and default is None:
                    default = rule.get("action") == "store_false"
                elif rule.get("nargs") == "*" and not rule["optional"] and default is None:
                    default = []
                found[dest] = self.value({{**rule, "choices": None}}, default) if isinstance(default, str) else default
        for dest, value in {{**self.fixed, **found}}.items():
            setattr(made, dest, value)
        return made, left
    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        made, left = self.parse_known_args(args, namespace)
        if left:
            self.error("unrecognized arguments: " + " ".join(left))
        return made
class {OURS}Argparse:
    pass
{ARGPARSE}: Any = {OURS}Argparse()
{ARGPARSE}.ArgumentParser = {OURS}ArgumentParser
{ARGPARSE}.Namespace = {OURS}Namespace
{"".join(f"{ARGPARSE}.{name} = None{chr(10)}" for name in _FORMATTERS)}"""
