"""The language of a run: what the caller says, else that of its session, else what the executors run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from doorward.config.install_hints import executors_of
from doorward.data.languages import JSON, PYTHON, is_script, named
from doorward.data.words import nearest
from doorward.model.errors import DoorwardError, InvalidArguments, Unsupported

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from doorward.sandboxes.executors import Executors


class Languages:
    """The languages that the configured executors run. An executor is only asked when the answer depends on it."""

    def __init__(self, executors: Executors, without_code: Callable[[str], bool] = lambda principal: False) -> None:
        """`without_code` says whether agents of a principal make single calls, and texts for them say nothing of
        programs."""
        self._executors = executors
        self._without_code = without_code

    @property
    def served(self) -> Sequence[str]:
        """The languages of all executors that can be loaded, in their order."""
        return list(dict.fromkeys(word for name in self._executors.names for word in self._of(name)))

    @property
    def default(self) -> str:
        """The language of programs about which nothing is said: Python, where any executor runs it."""
        first = ""
        for name in self._executors.names:
            words = self._of(name)
            if PYTHON in words:
                return PYTHON
            first = first or next(iter(words), "")
        return first or PYTHON

    def of_calls(self, principal: str) -> str:
        """The language in which mistakes in single calls are explained, without a look at the executors."""
        return JSON if self._without_code(principal) else PYTHON

    def of_texts(self, principal: str, asked: str = "") -> str:
        """The language in which functions are declared to a principal who asks for this one. Raises: Unsupported."""
        language = named(asked) or (JSON if self._without_code(principal) else "")
        return JSON if language == JSON else self.chosen(language)

    def chosen(self, asked: str, of_session: str = "") -> str:
        """The language of a run that was asked for as `asked`, perhaps in a session that has one.

        Raises: Unsupported, which says what is served and what to install; InvalidArguments if the session has another.
        """
        language = self.checked(asked)
        if of_session and language and of_session != language:
            raise InvalidArguments(
                f"this session runs {of_session}, not {language}",
                hint='A session has one language: open another with session_id="new".',
            )
        return language or of_session or self.default

    def parameters(self, code: str, language: str) -> Mapping[str, Any]:
        """The parameters of a program with their defaults. One that cannot be read, or whose language no executor
        reads, has none: its values are set by their names."""
        return self._executors.read(language, "parameters_of", code, default={})

    def checked(self, asked: str) -> str:
        """The language that a caller means; "" if none is named. Raises: Unsupported if no executor runs it."""
        language, names = named(asked), self._executors.names
        if not language or not names or any(self._executors.may_run(name, language) for name in names):
            return language
        served = self.served
        near = nearest(language, served, 1)
        raise Unsupported(
            f"no executor here runs {language!r}; what they run: {', '.join(served) or 'nothing'}"
            + (f"; did you mean {near[0]!r}?" if near else ""),
            hint=self._advice(language),
        )

    def _advice(self, language: str) -> str | None:
        """What the operator can do to have a language served."""
        known = executors_of(language) if is_script(language) else {}
        name, package = next(iter(known.items()), ("", ""))
        if name in self._executors.installed:
            return f"The executor {name!r} is installed: the operator can add it to `executor`."
        return f"The operator can `pip install {package}`, and add {name!r} to `executor`." if name else None

    def _of(self, name: str) -> Sequence[str]:
        try:
            return self._executors.languages(name)
        except DoorwardError:
            return ()
