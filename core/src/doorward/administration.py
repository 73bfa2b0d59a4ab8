"""For what administers a gateway, such as the command line: secrets, stored runs, plugins at work, and texts."""

from doorward.exports import Exports

_EXPORTS = Exports(
    __name__,
    {
        "access.rules": "selected",
        "calls.binding": "bind_arguments=bind fits_parameter=fits takes_text",
        "calls.files": "takes_file",
        "catalog.function_codec": "Report as_json",
        "catalog.notes": "FunctionNotes",
        "catalog.schemas": "BYTES_SCHEMAS",
        "config.installed_plugins": "PluginId",
        "data.clean_text": "shown_schema",
        "data.json_writing": "dump_json=dump json_digest=digest",
        "data.languages": "language_named=named language_of_file=of_file",
        "data.words": "in_place_of stems",
        "data.offload": "is_large maybe_in_thread=done run_in_thread=off_loop",
        "data.values": "cut_value=cut plain_value=plain",
        "host.logs": "Bounded log_stream=stderr",
        "host.self_reference": "starts_doorward",
        "model.calls": "LoginPrompt",
        "model.names": "qualified some",
        "plugins.failures": "Failures contained limited",
        "plugins.hook_answers": "Unfit expected",
        "plugins.manager": "Plugins",
        "secrets.detection": "hide hide_arguments hide_whole is_named_secret mask_tokens",
        "secrets.outgoing": "Outgoing without_drawn_tokens",
        "secrets.redaction": "REDACTED",
        "secrets.scrubber": "answers_of MIN_SECRET_CHARACTERS is_guessable",
        "servers.auths": "check_auth url_of",
        "servers.compiler": "with_aliases=otherwise_called",
        "stores": "open_store",
    },
)
__all__ = [*_EXPORTS.places]
__getattr__ = _EXPORTS.load
