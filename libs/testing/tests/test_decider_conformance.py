"""`DeciderConformance`, with a decider of somebody else's that asks a service, and with some that are wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.request import urlopen

import anyio.to_thread
import pytest
from doorward import Call, Decider, Decision, Function, Principal, Scope, hookimpl
from doorward_testing import DeciderConformance, call_of

ANN = Principal("ann", attributes={"team": "notes"})


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        allowed = self.path.startswith("/notes/") or self.path.endswith("/notes.find")
        self.send_response(200 if allowed else 403)
        self.end_headers()

    def log_message(self, *args: Any) -> None: ...


SERVICE = ThreadingHTTPServer(("127.0.0.1", 0), Handler)


@pytest.fixture(autouse=True, scope="module")
def _serving() -> Any:
    Thread(target=SERVICE.serve_forever, daemon=True).start()
    yield
    SERVICE.shutdown()


class Asks(Decider):
    """Asks the service whether a team may make a call; nobody but operators sees `notes.wipe`."""

    async def decide(self, call: Call) -> Decision | None:
        if self._hides(call.function, call.caller):
            return Decision("deny", "team service", "for operators")
        team, name = call.caller.attributes.get("team", "none"), call.function.qualified
        allowed = await anyio.to_thread.run_sync(self._ask, f"/{team}/{name}")
        return None if allowed else Decision("deny", "team service", f"{name} is not for {team}")

    def possible(self, function: Function, principal: Principal) -> Sequence[Decision]:
        if self._hides(function, principal):
            return [Decision("deny", "team service", "for operators")]
        return super().possible(function, principal)

    def scope(self, principal: Principal) -> Scope | None:
        return None if "operators" in principal.groups else Scope("all but operators")

    def _hides(self, function: Function, principal: Principal) -> bool:
        return function.name == "wipe" and "operators" not in principal.groups

    def _ask(self, path: str) -> bool:
        try:
            with urlopen(f"http://127.0.0.1:{SERVICE.server_address[1]}{path.encode('ascii', 'replace').decode()}"):
                return True
        except (OSError, ValueError):
            return False


class Team:
    """A plugin with this decider."""

    def __init__(self, context: Any) -> None:
        pass

    @hookimpl
    def deciders(self) -> list[Decider]:
        return [Asks()]


class TestTeam(DeciderConformance):
    plugin = Team

    def refused(self) -> Sequence[Call]:
        return [call_of("notes.delete"), replace(call_of("notes.wipe"), principal=ANN)]

    def passed(self) -> Sequence[Call]:
        return [call_of("notes.find"), replace(call_of("notes.delete"), principal=ANN)]


class Wrong(Decider):
    """Answers as it is told."""

    def __init__(self, **answers: Any) -> None:
        for name, answer in answers.items():
            setattr(self, name, lambda *given, answer=answer: answer)


DENY = Decision("deny", "mine")


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("answers", "test", "said"),
    [
        ({"decide": None}, "refuses", "it let pass notes.delete"),
        ({"decide": Decision("deny")}, "refuses", "without a rule and without a reason"),
        ({"decide": "deny"}, "refuses", "write a doorward.Decision"),
        ({"decide": DENY}, "lets_pass", "it refused notes.find"),
        ({"decide": DENY, "possible": [Decision()]}, "sets", "`possible` leaves"),
        ({"decide": DENY, "possible": [DENY]}, "sets", "`scope` says that it hides nothing"),
        ({"decide": DENY, "possible": DENY}, "sets", "write a list of decisions"),
        ({"decide": DENY, "scope": "all"}, "sets", "no Scope"),
    ],
)
async def test_what_is_wrong_is_told(host: Any, answers: Any, test: str, said: str) -> None:
    class Plugin:
        def __init__(self, context: Any) -> None:
            pass

        @hookimpl
        def deciders(self) -> list[Decider]:
            return [Wrong(**answers)]

    class Tested(TestTeam):
        plugin = Plugin

    tests = {
        "refuses": Tested.test_it_refuses,
        "lets_pass": Tested.test_it_lets_pass,
        "sets": Tested.test_sets_say_what_calls_get,
    }
    with pytest.raises(pytest.fail.Exception) as told:
        await tests[test](Tested(), host)
    assert said in str(told.value)
