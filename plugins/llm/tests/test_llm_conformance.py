"""What every source promises, and what its settings say."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from doorward import ConfigError
from doorward_llm import LLM
from doorward_testing import SourceConformance, check_driver, check_light_import


@pytest.mark.slow
class TestLLMConformance(SourceConformance):
    driver = LLM

    @pytest.fixture(autouse=True)
    def _provider(self, provider):
        self.url = provider.url

    def settings(self, host):
        return {"base_url": self.url, "model": "m"}

    def example(self, host):
        return "ask", {"prompt": "Hello?"}

    def refused(self, host):
        return "think", {"messages": [{"role": "user", "content": "Hello?"}], "model": "another"}


@pytest.mark.slow
def test_llm_is_installed():
    """The entry point leads to the driver, and importing it imports nothing heavy."""
    assert check_driver("source", "llm") is LLM
    check_light_import("doorward_llm")
    check_light_import("doorward_llm", forbidden=("openai", "genai_prices", "httpx2", "stdnum", "phonenumbers"))


@pytest.mark.slow
def test_llm_costs_nothing_before_it_is_asked():
    """CONTRACT: LLM-02 With the server configured and compiled, no library of models is imported and nothing is
    opened."""
    code = """
import asyncio, sys, tempfile, pathlib
from doorward import Gateway
async def main():
    folder = pathlib.Path(tempfile.mkdtemp())
    text = 'state = "state"\\n[servers.llm]\\nsource = "llm"\\nprovider = "anthropic"\\napi_key = "${NOT_SET}"\\n'
    (folder / "doorward.toml").write_text(text)
    async with Gateway.open(folder / "doorward.toml") as gate:
        found = await gate.search_functions("ask a language model")
        assert found["functions"][0]["function"] == "llm.ask", found
    print([name for name in ("openai", "genai_prices", "stdnum", "phonenumbers") if name in sys.modules])
    print([p.name for p in folder.rglob("quota.db")])
asyncio.run(main())
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ended.stdout.split() == ["[]", "[]"], ended.stdout + ended.stderr


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"sampling": "never"}, "no model can be asked"),
        ({"base_url": "http://127.0.0.1/v1"}, "needs a `model`"),
        ({"base_url": "ftp://127.0.0.1/v1", "model": "m"}, "http or https"),
        ({"base_url": "http://key@127.0.0.1/v1", "model": "m"}, "api_key"),
        ({"provider": "nobody"}, "anthropic"),
        ({"provider": "openai", "rounds": 0}, "rounds"),
        ({"provider": "openai", "daily": {"round": 1}}, "round"),
    ],
)
def test_llm_settings_that_are_wrong(host, settings, said):
    """What cannot work is said when the configuration is read."""
    with pytest.raises(ConfigError, match=said):
        host.validated(LLM.Settings, settings)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("provider", "model", "host_name"),
    [
        ("anthropic", "claude-haiku-4-5-20251001", "api.anthropic.com"),
        ("openai", "gpt-4o-mini", "api.openai.com"),
        ("gemini", "gemini-2.5-flash-lite", "generativelanguage.googleapis.com"),
        ("grok", "grok-4-1-fast-non-reasoning", "api.x.ai"),
        ("perplexity", "sonar", "api.perplexity.ai"),
    ],
)
def test_llm_providers_by_name(host, provider, model, host_name):
    """CONTRACT: LLM-10 Five providers have an address, a default model and a known price; policies know where they
    are."""
    from doorward_llm.prices import cost_of

    settings = host.validated(LLM.Settings, {"provider": provider})
    assert settings.default_model == model
    assert LLM.upstreams(settings, None) == [settings.address]
    assert settings.address.startswith(f"https://{host_name}/")
    assert 0 < (cost_of(settings, model, 1000, 1000) or 0) < 1


@pytest.mark.slow
def test_llm_on_the_command_line(cli, doorward_host, provider):
    """`doorward add llm NAME` writes the server, `show` shows its functions, and `call` asks."""
    doorward_host.install_real("llm", "text", "doorward-store-sqlite")
    doorward_host.write("")
    added = cli("add", "llm", "llm", "--base-url", provider.url, "--model", "m")
    assert added.code == 0, added.err
    assert 'source = "llm"' in (doorward_host.folder / "doorward.toml").read_text()
    shown = cli("show", "llm.ask")
    assert "max_tokens: int = 1000" in shown.out
    assert json.loads(cli("call", "llm.ask", "prompt=Hello?").out) == "Hello!"
