"""A hook plugin with every tool, prompt, resource and handler that the scenarios of the MCP conformance suite call,
made by the public hooks alone. `doorward serve` runs it; nothing of the tests' own is imported here."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import mcp_types as t
from doorward import AgentTool, ToolAnswer, ToolCaller, hookimpl
from doorward.serving import RawPrompt, RawResource, RawTool
from doorward_mcp_server import tasks
from mcp import MCPError
from mcp.server.subscriptions import PromptsListChanged, ToolsListChanged
from mcp.shared.message import ServerMessageMetadata

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC"
WAV = base64.b64encode(b"RIFF$\0\0\0WAVEfmt \x10\0\0\0\1\0\1\0@\x1f\0\0@\x1f\0\0\1\0\x08\0data\0\0\0\0").decode()
MISSING_CAPABILITY = -32021

tools: dict[str, RawTool] = {}
prompts: dict[str, RawPrompt] = {}
resources: list[RawResource] = []


def text(said: str) -> t.TextContent:
    return t.TextContent(text=said)


def image() -> t.ImageContent:
    return t.ImageContent(data=PNG, mime_type="image/png")


def embedded(uri: str, content: str, type: str = "text/plain") -> t.EmbeddedResource:
    return t.EmbeddedResource(resource=t.TextResourceContents(uri=uri, mime_type=type, text=content))


def answer(*content: Any) -> t.CallToolResult:
    return t.CallToolResult(content=[text(one) if isinstance(one, str) else one for one in content])


def form(message: str, /, **properties: Any) -> t.ElicitRequest:
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return t.ElicitRequest(params=t.ElicitRequestFormParams(message=message, requested_schema=schema))


def sample(prompt: str, most: int = 100) -> t.CreateMessageRequest:
    messages = [t.SamplingMessage(role="user", content=text(prompt))]
    return t.CreateMessageRequest(params=t.CreateMessageRequestParams(messages=messages, max_tokens=most))


def tool(name: str, schema: Mapping[str, Any] | None = None, /, **properties: Any) -> Callable[[Any], Any]:
    def add(call: Callable[[Any, Mapping[str, Any]], Awaitable[Any]]) -> Any:
        given = schema or {"type": "object", "properties": properties, "required": list(properties)}
        tools[name] = RawTool(
            t.Tool(name=name, description=f"For the scenario that calls {name}", input_schema=given), call
        )
        return call

    return add


def prompt(name: str, *arguments: str) -> Callable[[Any], Any]:
    def add(get: Callable[[Any, Mapping[str, str]], Awaitable[Any]]) -> Any:
        takes = [t.PromptArgument(name=a, description=a, required=True) for a in arguments]
        prompts[name] = RawPrompt(
            t.Prompt(name=name, description=f"For the scenario that gets {name}", arguments=takes), get
        )
        return get

    return add


def messages(*content: Any) -> t.GetPromptResult:
    return t.GetPromptResult(
        messages=[t.PromptMessage(role="user", content=text(c) if isinstance(c, str) else c) for c in content]
    )


def declares(ctx: Any, capability: str) -> bool:
    return getattr(ctx.session.client_capabilities or t.ClientCapabilities(), capability) is not None


# Content of every kind


async def ask(ctx: Any, request: Any, kind: Any) -> Any:
    """Ask a client of the older era."""
    return await ctx.session.send_request(
        request, kind, metadata=ServerMessageMetadata(related_request_id=ctx.request_id)
    )


def fixed(name: str, *content: Any) -> None:
    @tool(name)
    async def call(ctx: Any, arguments: Any) -> Any:
        return answer(*content)


fixed("test_simple_text", "This is a simple text response for testing.")
fixed("test_image_content", image())
fixed("test_audio_content", t.AudioContent(data=WAV, mime_type="audio/wav"))
fixed("test_embedded_resource", embedded("test://embedded-resource", "This is an embedded resource content."))
MIXED = embedded("test://mixed-content-resource", '{"test":"data","value":123}', "application/json")
fixed("test_multiple_content_types", "Multiple content types test:", image(), MIXED)


@tool("test_error_handling")
async def error_handling(ctx: Any, arguments: Any) -> Any:
    return t.CallToolResult(content=[text("This tool intentionally returns an error for testing")], is_error=True)


@tool("test_missing_capability")
async def missing_capability(ctx: Any, arguments: Any) -> Any:
    if not declares(ctx, "sampling"):
        raise MCPError(MISSING_CAPABILITY, "This tool samples", {"requiredCapabilities": {"sampling": {}}})
    return answer("The client declares sampling")


# What is told while a tool works


@tool("test_tool_with_logging")
async def with_logging(ctx: Any, arguments: Any) -> Any:
    for said in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await ctx.session.send_log_message("info", said, related_request_id=ctx.request_id)
        await asyncio.sleep(0.05)
    return answer("done")


tools["test_logging_tool"] = RawTool(
    tools["test_tool_with_logging"].tool.model_copy(update={"name": "test_logging_tool"}), with_logging
)


@tool("test_tool_with_progress")
async def with_progress(ctx: Any, arguments: Any) -> Any:
    for done in (0, 50, 100):
        await ctx.session.report_progress(done, 100)
        await asyncio.sleep(0.05)
    return answer("done")


# Questions to a client of the older era


@tool("test_sampling", prompt={"type": "string"})
async def sampling(ctx: Any, arguments: Any) -> Any:
    result = await ask(ctx, sample(arguments["prompt"]), t.CreateMessageResult)
    return answer(f"LLM response: {result.content.text}")


@tool("test_elicitation", message={"type": "string"})
async def elicitation(ctx: Any, arguments: Any) -> Any:
    user = {
        "username": {"type": "string", "description": "User's response"},
        "email": {"type": "string", "description": "User's email"},
    }
    result = await ask(ctx, form(arguments["message"], **user), t.ElicitResult)
    return answer(f"User response: action={result.action}, content={result.content}")


def asking(name: str, /, **properties: Any) -> None:
    @tool(name)
    async def call(ctx: Any, arguments: Any) -> Any:
        result = await ask(ctx, form("Look at the fields", **properties), t.ElicitResult)
        return answer(f"Elicitation completed: action={result.action}, content={json.dumps(result.content)}")


def choices(*values: str) -> list[dict[str, str]]:
    return [{"const": value, "title": value.title()} for value in values]


asking(
    "test_elicitation_sep1034_defaults",
    name={"type": "string", "default": "John Doe"},
    age={"type": "integer", "default": 30},
    score={"type": "number", "default": 95.5},
    status={"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
    verified={"type": "boolean", "default": True},
)
THREE = ["option1", "option2", "option3"]
asking(
    "test_elicitation_sep1330_enums",
    untitledSingle={"type": "string", "enum": THREE},
    titledSingle={"type": "string", "oneOf": choices("value1", "value2", "value3")},
    legacyEnum={
        "type": "string",
        "enum": ["opt1", "opt2", "opt3"],
        "enumNames": ["Option One", "Option Two", "Option Three"],
    },
    untitledMulti={"type": "array", "items": {"type": "string", "enum": THREE}},
    titledMulti={"type": "array", "items": {"anyOf": choices("value1", "value2", "value3")}},
)


# Questions to a client of the newer era

NAME = form("What is your name?", name={"type": "string"})
ROOTS = t.ListRootsRequest()


def required(state: str | None = None, /, **requests: Any) -> t.InputRequiredResult:
    return t.InputRequiredResult(input_requests=requests, request_state=state)


def given(ctx: Any, *keys: str) -> list[Any] | None:
    """The answers of the client by these names, if it gave all of them."""
    responses = (ctx.params or {}).get("inputResponses") or {}
    return [responses[key] for key in keys] if all(isinstance(responses.get(key), Mapping) for key in keys) else None


def state(ctx: Any) -> str | None:
    return (ctx.params or {}).get("requestState")


def once(name: str, /, **requests: Any) -> None:
    """A tool that asks all of this at once, and then says what it was told."""

    @tool(name)
    async def call(ctx: Any, arguments: Any) -> Any:
        told = given(ctx, *requests)
        return answer(json.dumps(told)) if told else required(**requests)


once("test_input_required_result_elicitation", user_name=NAME)
once("test_streaming_elicitation", user_name=NAME)
once("test_input_required_result_sampling", capital_question=sample("What is the capital of France?"))
once("test_input_required_result_list_roots", client_roots=ROOTS)


def with_state(name: str, /, **requests: Any) -> None:
    """The same, with a state that has to come back."""

    @tool(name)
    async def call(ctx: Any, arguments: Any) -> Any:
        told = given(ctx, *requests)
        if not told:
            return required(name, **requests)
        return answer(f"state-ok: {json.dumps(told)}" if state(ctx) == name else f"not my state: {state(ctx)}")


CONFIRM = form("Please confirm", ok={"type": "boolean"})
with_state("test_input_required_result_request_state", confirm=CONFIRM)
with_state("test_input_required_result_tampered_state", confirm=CONFIRM)
with_state(
    "test_input_required_result_multiple_inputs",
    user_name=NAME,
    greeting=sample("Generate a greeting", 50),
    client_roots=ROOTS,
)


@tool("test_input_required_result_multi_round")
async def multi_round(ctx: Any, arguments: Any) -> Any:
    match state(ctx):
        case "round 2" if (told := given(ctx, "step2")) is not None:
            return answer(json.dumps(told))
        case "round 1" if given(ctx, "step1"):
            return required("round 2", step2=form("Step 2: What is your favorite color?", color={"type": "string"}))
    return required("round 1", step1=form("Step 1: What is your name?", name={"type": "string"}))


@tool("test_input_required_result_capabilities")
async def capabilities(ctx: Any, arguments: Any) -> Any:
    wanted = {"elicitation": NAME, "sampling": sample("Hello"), "roots": ROOTS}
    return required(**{key: request for key, request in wanted.items() if declares(ctx, key)})


@prompt("test_input_required_result_prompt")
async def asking_prompt(ctx: Any, arguments: Any) -> Any:
    told = given(ctx, "user_context")
    if told is None:
        return required(user_context=form("What context should the prompt use?", context={"type": "string"}))
    return messages(f"The context is {json.dumps(told)}")


# Schemas

STRING = {"type": "string"}
VOCABULARY = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {"address": {"$anchor": "addressDef", "type": "object", "properties": {"street": STRING, "city": STRING}}},
    "properties": {
        "name": {"type": "string"}, "address": {"$ref": "#/$defs/address"}, "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"}, "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]}, "else": {"required": ["email"]},
    "additionalProperties": False,
}  # fmt: skip


@tool("json_schema_2020_12_tool", VOCABULARY)
async def vocabulary(ctx: Any, arguments: Any) -> Any:
    return answer(json.dumps(dict(arguments)))


@tool("test_x_mcp_header", region={"type": "string", "x-mcp-header": "Region"})
async def header(ctx: Any, arguments: Any) -> Any:
    return answer(arguments["region"])


# Prompts


@prompt("test_simple_prompt")
async def simple_prompt(ctx: Any, arguments: Any) -> Any:
    return messages("This is a simple prompt for testing.")


@prompt("test_prompt_with_arguments", "arg1", "arg2")
async def prompt_with_arguments(ctx: Any, arguments: Any) -> Any:
    return messages(f"Prompt with arguments: arg1='{arguments['arg1']}', arg2='{arguments['arg2']}'")


@prompt("test_prompt_with_embedded_resource", "resourceUri")
async def prompt_with_resource(ctx: Any, arguments: Any) -> Any:
    resource = embedded(arguments["resourceUri"], "Embedded resource content for testing.")
    return messages(resource, "Please process the embedded resource above.")


@prompt("test_prompt_with_image")
async def prompt_with_image(ctx: Any, arguments: Any) -> Any:
    return messages(image(), "Please analyze the image above.")


# Resources


def resource(uri: str, type: str, content: str, *, blob: bool = False) -> None:
    async def read(ctx: Any, asked: str) -> t.ReadResourceResult:
        about: dict[str, Any] = {"uri": asked, "mime_type": type}
        contents = (
            t.BlobResourceContents(**about, blob=content) if blob else t.TextResourceContents(**about, text=content)
        )
        return t.ReadResourceResult(contents=[contents])

    described = t.Resource(
        name=uri.removeprefix("test://"), uri=uri, mime_type=type, description=f"For the scenarios that read {uri}"
    )
    resources.append(RawResource(described, read))


resource("test://static-text", "text/plain", "This is the content of the static text resource.")
resource("test://static-binary", "image/png", PNG, blob=True)
resource("test://watched-resource", "text/plain", "Watched")


async def read_template(ctx: Any, uri: str) -> t.ReadResourceResult:
    number = uri.removeprefix("test://template/").removesuffix("/data")
    said = json.dumps({"id": number, "templateTest": True, "data": f"Data for ID: {number}"})
    return t.ReadResourceResult(contents=[t.TextResourceContents(uri=uri, mime_type="application/json", text=said)])


resources.append(
    RawResource(
        t.ResourceTemplate(
            name="template",
            uri_template="test://template/{id}/data",
            mime_type="application/json",
            description="By number",
        ),
        read_template,
    )
)


# Tasks: tools for agents, as Doorward's own, which become tasks when they take long

TASK_AFTER = 0.2
"""Seconds after which a call becomes a task here: the scenarios' tools take one or two."""


def said(result: str, *, failed: bool = False) -> ToolAnswer:
    return ToolAnswer({"result": result}, result, failed)


async def asked(caller: ToolCaller, what: str, name: str) -> Any:
    schema = {"type": "object", "properties": {name: {"type": "string"}}, "required": [name]}
    answered = await caller.client.ask("elicitation/create", {"message": what, "requestedSchema": schema})
    return answered.get("content", {}).get(name)


async def greet(caller: ToolCaller, name: str) -> ToolAnswer:
    return said(f"Hello, {name}!")


async def slow_compute(caller: ToolCaller, seconds: float, label: str = "") -> ToolAnswer:
    await asyncio.sleep(seconds)
    return said(f"computed {label}")


async def failing_job(caller: ToolCaller) -> ToolAnswer:
    await asyncio.sleep(2 * TASK_AFTER)
    return said("this job fails", failed=True)


async def protocol_error_job(caller: ToolCaller) -> ToolAnswer:
    await asyncio.sleep(2 * TASK_AFTER)
    raise MCPError(t.INTERNAL_ERROR, "an error of the protocol")


async def confirm_delete(caller: ToolCaller, filename: str) -> ToolAnswer:
    await asyncio.sleep(2 * TASK_AFTER)
    return said(f"{filename}: {await asked(caller, f'Delete {filename}?', 'confirm')}")


async def multi_input(caller: ToolCaller) -> ToolAnswer:
    await asyncio.sleep(2 * TASK_AFTER)
    both = await asyncio.gather(asked(caller, "First?", "first"), asked(caller, "Second?", "second"))
    return said(f"answered {both}")


async def test_tool_with_task(caller: ToolCaller) -> ToolAnswer:
    name = await asked(caller, "Who?", "name")
    await asyncio.sleep(2 * TASK_AFTER)
    return said(f"done for {name}")


@hookimpl
def agent_tools() -> list[AgentTool]:
    handlers = (greet, slow_compute, failing_job, protocol_error_job, confirm_delete, multi_input, test_tool_with_task)
    schema = {"type": "object", "properties": {"result": {"type": "string"}}}
    return [AgentTool(each, each.__name__, "For the scenarios of tasks", output_schema=schema) for each in handlers]


# Handlers


async def complete(ctx: Any, params: t.CompleteRequestParams) -> t.CompleteResult:
    found = [word for word in ("paris", "park", "party") if word.startswith(params.argument.value)]
    return t.CompleteResult(completion=t.Completion(values=found, total=len(found), has_more=False))


async def accept(ctx: Any, params: Any) -> t.EmptyResult:
    return t.EmptyResult()


@hookimpl
def mcp_tools() -> list[RawTool]:
    return list(tools.values())


@hookimpl
def mcp_prompts() -> list[RawPrompt]:
    return list(prompts.values())


@hookimpl
def mcp_resources() -> list[RawResource]:
    return resources


@hookimpl
def mcp_server(server: Any, changed: Any) -> None:
    tasks.AFTER_SECONDS = TASK_AFTER
    server.add_request_handler("completion/complete", t.CompleteRequestParams, complete)
    server.add_request_handler("logging/setLevel", t.SetLevelRequestParams, accept)
    server.add_request_handler("resources/subscribe", t.SubscribeRequestParams, accept)
    server.add_request_handler("resources/unsubscribe", t.UnsubscribeRequestParams, accept)

    @tool("test_trigger_tool_change")
    async def tool_change(ctx: Any, arguments: Any) -> Any:
        await changed(ToolsListChanged())
        return answer("told")

    @tool("test_trigger_prompt_change")
    async def prompt_change(ctx: Any, arguments: Any) -> Any:
        await changed(PromptsListChanged())
        return answer("told")
