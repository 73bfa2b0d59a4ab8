"""A channel by which a person is asked in another place, and what its conformance class says of one with a mistake."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from doorward import InvalidArguments, hookimpl
from doorward_approvals import ApprovalRequest, conformance

pytestmark = pytest.mark.anyio


class Chat:
    """What the person sees, and how they answer."""

    by = "ann"

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.waiting: dict[str, Any] = {}

    @hookimpl
    def approval_wanted(self, request: ApprovalRequest, answer: Any) -> None:
        self.waiting[request.id] = answer
        self.lines.append(f"{request.principal}: {request.function}({request.arguments})")

    def says(self, id: str, yes: bool) -> None:
        def answers() -> None:
            try:
                self.waiting[id](yes, by=self.by).result()
            except InvalidArguments:
                self.lines.append("too late")

        threading.Thread(target=answers).start()


class TestChat(conformance.ApprovalChannelConformance):
    plugin = Chat

    def made(self, host: Any) -> Chat:
        self.chat: Chat = self.plugin()
        return self.chat

    async def told(self) -> str:
        return "".join(self.chat.lines)

    async def answered(self, request: ApprovalRequest, yes: bool) -> None:
        self.chat.says(request.id, yes)


class HidesArguments(Chat):
    @hookimpl
    def approval_wanted(self, request: ApprovalRequest, answer: Any) -> None:
        self.lines.append(f"{request.principal}: {request.function}")


class SaysYesItself(Chat):
    @hookimpl
    def approval_wanted(self, request: ApprovalRequest, answer: Any) -> None:
        answer(True, by="me")
        super().approval_wanted(request, answer)


class AlwaysSaysYes(Chat):
    def says(self, id: str, yes: bool) -> None:
        super().says(id, True)


class Nobody(Chat):
    by = ""


class TakesNoOddRequest(Chat):
    @hookimpl
    def approval_wanted(self, request: ApprovalRequest, answer: Any) -> None:
        request.arguments.encode()
        super().approval_wanted(request, answer)


MISTAKES = [
    (HidesArguments, "test_the_person_reads_what_is_asked", (), "the person does not read 'R-17'"),
    (SaysYesItself, "test_an_answer_comes_back", (True,), "it answered before the person did"),
    (AlwaysSaysYes, "test_an_answer_comes_back", (False,), "the person said False, and `answer` was called with True"),
    (Nobody, "test_an_answer_comes_back", (True,), "say who answered"),
    (TakesNoOddRequest, "test_it_keeps_nobody_waiting", (), "Send in a thread, and log what fails"),
]


@pytest.mark.parametrize(("channel", "test", "given", "says"), MISTAKES, ids=lambda each: getattr(each, "__name__", ""))
async def test_a_mistake_is_told(
    host: Any, monkeypatch: pytest.MonkeyPatch, channel: type[Chat], test: str, given: tuple[Any, ...], says: str
) -> None:
    """In the test that is about it."""
    monkeypatch.setattr(conformance, "ANSWER_SECONDS", 0.3)
    case = TestChat()
    case.plugin = channel
    with pytest.raises(pytest.fail.Exception, match=says):
        await getattr(case, test)(host, *given)
