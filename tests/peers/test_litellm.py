"""The source `llm` against LiteLLM's proxy, an OpenAI-compatible gateway that many operators run. Its models are mocked:
everything but the model itself is real."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from doorward import Gateway
from doorward.config.config import load
from doorward_testing import reserve_port

from .peer import CACHE, absent, answers, run, running

pytestmark = [pytest.mark.anyio]

KEY = "sk-master-0123456789abcdef"
MODELS = {
    "claude-haiku-4-5-20251001": "Hello from a mock!",
    "typed": '```json\n{"n": 5}\n```',
    "busy": "litellm.RateLimitError",
    "long": "word " * 50_000,
}


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of the proxy."""
    command = CACHE / "litellm/bin/litellm"
    if not command.exists():
        absent("LiteLLM")
    folder, port = tmp_path_factory.mktemp("litellm"), reserve_port()
    models = [
        {"model_name": name, "litellm_params": {"model": f"openai/{name}", "api_key": "none", "mock_response": said}}
        for name, said in MODELS.items()
    ]
    settings = {"master_key": KEY}
    config = folder / "config.yaml"
    config.write_text(json.dumps({"model_list": models, "general_settings": settings}))  # JSON is YAML
    url = f"http://127.0.0.1:{port}"
    words = [str(command), "--config", str(config), "--host", "127.0.0.1", "--port", str(port), "--telemetry", "False"]
    path = f"{command.parent}{os.pathsep}{os.environ['PATH']}"
    environ = {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "PATH": path, "HOME": str(folder)}
    with running(words, folder, answers(f"{url}/health/liveliness"), **environ):
        yield url


@pytest.fixture
async def gate(proxy: str, tmp_path: Any) -> AsyncIterator[Gateway]:
    """A gateway whose one server is `llm`, before the proxy."""
    file = tmp_path / "doorward.toml"
    file.write_text(f"""
state = "state"
[servers.llm]
source = "llm"
provider = "anthropic"
base_url = "{proxy}"
api_key = "${{KEY}}"
models = ["*"]
tokens = 200000
""")
    async with Gateway.open(load(file, environ={"KEY": KEY})) as gate:
        yield gate


async def test_litellm_answers(gate: Gateway) -> None:
    """CONTRACT: LLM-10 Text and JSON of the proxy, with the tokens that it counted."""
    talk = [{"role": "user", "content": "n?"}]
    code = f"import llm\n[llm.ask('Hello?'), llm.think({talk}, model='typed', schema={{'type': 'object'}})]"
    outcome = await gate.execute(code)
    assert outcome.value == ["Hello from a mock!", {"n": 5}], outcome.error
    assert outcome.usage["llm"]["rounds"] == 2
    assert outcome.usage["llm"]["tokens"] > 30


async def test_litellm_refuses(gate: Gateway, proxy: str, tmp_path: Any) -> None:
    """What the proxy says is wrong reaches the program: an unknown model, a limit, a wrong key."""
    ask = "import llm\nllm.think([{{'role': 'user', 'content': 'n?'}}], model='{}')"
    unknown = (await gate.execute(ask.format("nobody"))).error
    assert unknown is not None
    assert unknown.type == "ApiError"
    assert "nobody" in unknown.message
    busy = (await gate.execute(ask.format("busy"))).error
    assert busy is not None
    assert "429" in busy.message
    file = tmp_path / "doorward.toml"
    async with Gateway.open(load(file, environ={"KEY": "sk-wrong-0123456789"})) as other:
        wrong = (await other.execute("import llm\nllm.ask('Hello?')")).error
        assert wrong is not None
        assert "sk-wrong-0123456789" not in str(wrong)
        assert "No connected db" in wrong.message  # where it would look the key up


async def test_litellm_answers_at_length(gate: Gateway) -> None:
    """A long answer arrives whole in the program."""
    code = "import llm\nlen(llm.think([{'role': 'user', 'content': 'n?'}], model='long'))"
    assert await run(gate, code) == len(MODELS["long"])
