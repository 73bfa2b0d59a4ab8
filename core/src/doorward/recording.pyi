# `make reference` writes this file.
from doorward.calls.client_requests import RunClient as RunClient
from doorward.calls.files import takes_bytes as takes_bytes
from doorward.data.planned import planned as planned
from doorward.model.calls import may_repeat as may_repeat
from doorward.model.clock import Clock as Clock
from doorward.model.programs import OutcomePart as OutcomePart
from doorward.model.programs import Waiting as Waiting
from doorward.model.programs import resumed_at as resumed_at
from doorward.model.recording import InterceptedRun as InterceptedRun
from doorward.model.recording import Interceptor as Interceptor
from doorward.model.recording import RECORDERS as RECORDERS
from doorward.model.recording import RECORDINGS as RECORDINGS
from doorward.model.recording import RecordedCall as RecordedCall
from doorward.model.recording import RecordedProgram as RecordedProgram
from doorward.model.recording import RecordedRun as RecordedRun
from doorward.model.recording import Recorder as Recorder
from doorward.model.recording import Recorders as Recorders
from doorward.model.recording import Recordings as Recordings
from doorward.model.recording import Suspends as Suspends
from doorward.model.recording import WITHHOLDS as WITHHOLDS
from doorward.model.recording import Withholds as Withholds
from doorward.model.suspension import Suspension as Suspension
from doorward.runs.outcomes import failure as outcome_failure
from doorward.runs.outcomes import waiting as waiting_run
from doorward.runs.run_context import RunContext as RunContext

__all__ = [
    "Clock",
    "InterceptedRun",
    "Interceptor",
    "OutcomePart",
    "RECORDERS",
    "RECORDINGS",
    "RecordedCall",
    "RecordedProgram",
    "RecordedRun",
    "Recorder",
    "Recorders",
    "Recordings",
    "RunClient",
    "RunContext",
    "Suspends",
    "Suspension",
    "WITHHOLDS",
    "Waiting",
    "Withholds",
    "may_repeat",
    "outcome_failure",
    "planned",
    "resumed_at",
    "takes_bytes",
    "waiting_run",
]
