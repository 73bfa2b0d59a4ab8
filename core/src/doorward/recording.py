"""For plugins that record runs, suspend them, or withhold what they would change: what the kernel asks of them, and of
what they make runs and outcomes."""

from doorward.exports import Exports

_EXPORTS = Exports(
    __name__,
    {
        "calls.client_requests": "RunClient",
        "calls.files": "takes_bytes",
        "data.planned": "planned",
        "model.clock": "Clock",
        "model.calls": "may_repeat",
        "model.programs": "OutcomePart Waiting resumed_at",
        "model.recording": (
            "InterceptedRun Interceptor RECORDERS RECORDINGS RecordedCall RecordedProgram RecordedRun "
            "Recorder Recorders Recordings Suspends WITHHOLDS Withholds"
        ),
        "model.suspension": "Suspension",
        "runs.outcomes": "outcome_failure=failure waiting_run=waiting",
        "runs.run_context": "RunContext",
    },
)
__all__ = [*_EXPORTS.places]
__getattr__ = _EXPORTS.load
