"""A model behind an endpoint, which is a real server on loopback: what is sent, how often, and what it may answer."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
import structlog
from doorward_search_embeddings import Embeddings
from doorward_search_embeddings import endpoint as endpoint_module
from doorward_testing import Host
from doorward_testing.samples import Weather

from .conftest import Endpoint, names, opened

pytestmark = pytest.mark.anyio

KEY = "correct-horse-battery-0815"


def of(endpoint: Endpoint, more: str = "") -> str:
    return f'url = "{endpoint.url}"\nmodel = "small"\n{more}'


async def test_what_is_sent(doorward_host: Host, endpoint: Endpoint) -> None:
    """One request for all functions, one for a question; with the key, the model, and texts; nothing else."""
    settings = of(endpoint, 'key = "${EMBEDDINGS_KEY}"\ndimensions = 3\nquestion_prefix = "query: "')
    async with opened(doorward_host, settings, environ={"EMBEDDINGS_KEY": KEY}) as gate:
        found = await gate.search_functions("umbrella", explain=True)
        assert names(found)[0] == "weather.get_forecast"
        assert found["functions"][0]["matched"] == ["like: embeddings"]
        await gate.search_functions("umbrella", limit=1)
    functions, question = endpoint.seen
    assert functions["path"] == "/v1/embeddings"
    assert functions["headers"]["authorization"] == f"Bearer {KEY}"
    assert set(functions["body"]) == {"model", "input", "encoding_format", "dimensions"}
    assert functions["body"]["model"] == "small"
    assert "weather: get forecast\nThe forecast for a city\nTakes: city, days" in functions["body"]["input"]
    assert question["body"]["input"] == ["query: umbrella"]
    assert KEY not in str([functions["body"], question["body"]])


async def test_a_restart_sends_no_function_again(doorward_host: Host, endpoint: Endpoint, monkeypatch: Any) -> None:
    """And a change only the one that changed."""
    async with opened(doorward_host, of(endpoint)):
        assert len(endpoint.texts) == 8
    endpoint.seen.clear()
    async with opened(doorward_host, of(endpoint)) as gate:
        assert names(await gate.search_functions("umbrella")) == ["weather.get_forecast"]
        assert endpoint.texts == ["umbrella"]
        endpoint.seen.clear()
        compile_before = Weather.compile

        async def compiled(self: Weather) -> Any:
            found = await compile_before(self)
            return replace(found, functions=[*found.functions[:-1], replace(found.functions[-1], summary="Umbrella")])

        monkeypatch.setattr(Weather, "compile", compiled)
        await gate.compile(force=True)
        await gate.search_engine().prepare()
        assert endpoint.texts == ["weather: raw\nUmbrella"]


@pytest.mark.slow
async def test_an_endpoint_that_is_slow_delays_no_search(doorward_host: Host, endpoint: Endpoint) -> None:
    """It is asked once, and then not for a while."""
    async with opened(doorward_host, of(endpoint)) as gate:
        endpoint.delay = 2.0
        with structlog.testing.capture_logs() as logs:
            for asked in ("forecast", "forecast city", "city forecast today"):
                assert names(await gate.search_functions(asked))[0] == "weather.get_forecast"
        assert [entry["event"] for entry in logs].count("search_view_failed") == 1
        assert len(endpoint.seen) == 2


@pytest.mark.slow
async def test_an_endpoint_that_is_down(doorward_host: Host, endpoint: Endpoint) -> None:
    """At the start and later; `doctor` names it, and what to do."""
    url = endpoint.url
    async with opened(doorward_host, of(endpoint)) as gate:
        endpoint.close()
        assert names(await gate.search_functions("forecast")) == ["weather.get_forecast"]
    for file in (doorward_host.folder / "state").glob("store.db*"):
        file.unlink()
    async with opened(doorward_host, f'url = "{url}"\nmodel = "small"\n') as gate:
        assert names(await gate.search_functions("forecast")) == ["weather.get_forecast"]
        ((what, ok, advice),) = [check async for check in gate.search_engine().checks()]
        assert not ok
        assert f"{url}/embeddings cannot be reached" in what
        assert "Does it run" in advice


async def test_long_texts_are_cut(doorward_host: Host, endpoint: Endpoint) -> None:
    """For models of short texts; the prefix is not a part of what is cut."""
    async with opened(doorward_host, of(endpoint, 'max_characters = 20\ntext_prefix = "passage: "')) as gate:
        await gate.search_functions("umbrella of the city of Oslo")
    assert max(map(len, endpoint.texts)) == len("passage: ") + 20
    assert endpoint.texts[-1] == "umbrella of the city"


def _data(*embeddings: Any) -> bytes:
    return json.dumps({"data": [{"index": n, "embedding": each} for n, each in enumerate(embeddings)]}).encode()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ((401, {}, b'{"error": {"message": "bad key correct-horse-battery-0815"}}'), "answered 401: "),
        ((404, {}, b"<html>no</html>"), "answered 404"),
        ((500, {}, b"\xff\xfe"), "answered 500"),
        ((302, {"Location": "http://127.0.0.1:1/v1/embeddings"}, b""), "answered 302"),
        ((200, {}, b"no json"), "answered no embeddings of 8 texts"),
        ((200, {}, b"{}"), "answered no embeddings"),
        ((200, {}, b'{"data": null}'), "answered no embeddings"),
        ((200, {}, b'{"data": [1]}'), "answered no embeddings"),
        ((200, {}, b'{"data": [{"index": {}, "embedding": []}]}'), "answered no embeddings"),
        ((200, {}, b"[" * 100_000), "answered no embeddings"),
        ((200, {}, _data([1.0])), "answered no embeddings of 8 texts"),
        ((200, {}, _data(*[["x"]] * 8)), "in them, not only numbers"),
        ((200, {}, _data(*[[float("nan")]] * 8)), "in them, not only numbers"),
        ((200, {}, _data(*[[1]] * 7, [1, 2])), "different lengths"),
        ((200, {}, _data(*[None] * 8)), "not numbers with 2"),
        ((200, {}, _data(*["text"] * 8)), "a list of str"),
        (
            (200, {}, b'{"data": [' + b",".join(b'{"index": %d, "embedding": [1e999]}' % n for n in range(8)) + b"]}"),
            "finite",
        ),
        ((200, {"Content-Encoding": "gzip"}, b"\x1f\x8b"), "packed its answer"),
    ],
)
async def test_hostile_answers(
    doorward_host: Host, endpoint: Endpoint, answer: tuple[int, dict[str, str], bytes], why: str
) -> None:
    """Each is an error that names the endpoint or the view; words are searched all the same; the key is in none."""
    endpoint.answer = answer
    settings = of(endpoint, 'key = "${EMBEDDINGS_KEY}"')
    with structlog.testing.capture_logs() as logs:
        async with opened(doorward_host, settings, environ={"EMBEDDINGS_KEY": KEY}) as gate:
            assert names(await gate.search_functions("forecast")) == ["weather.get_forecast"]
            ((what, ok, _),) = [check async for check in gate.search_engine().checks()]
    assert not ok
    assert why in what
    assert KEY not in what
    assert KEY not in str(logs)


@pytest.mark.slow
async def test_an_answer_without_end_is_cut(doorward_host: Host, endpoint: Endpoint, monkeypatch: Any) -> None:
    """No more is read than vectors may take."""
    monkeypatch.setattr(endpoint_module, "MAX_RESPONSE_BYTES", 2**20)
    endpoint.answer = 200, {}, b" " * 2**22
    async with opened(doorward_host, of(endpoint)) as gate:
        ((what, ok, _),) = [check async for check in gate.search_engine().checks()]
        assert not ok
        assert "more than 1 MiB" in what


async def test_a_request_ends_in_time(host: Host, endpoint: Endpoint) -> None:
    """After the seconds of `timeout`."""
    endpoint.delay = 1.0
    settings = {"url": endpoint.url, "model": "small", "timeout": 0.1}
    view = Embeddings(host.context(Embeddings.Settings, settings))
    with pytest.raises(Exception, match=r"did not answer within 0\.1 s"):
        await view.embed(["umbrella"], question=True)
    await view.close()
    await view.close()


@pytest.mark.slow
async def test_an_answer_of_too_many_numbers_is_not_read(
    doorward_host: Host, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Eight vectors of 400,000 numbers are refused by their commas; the numbers are never made."""
    endpoint.answer = (200, {}, _data(*[[0] * 400_000] * 8))
    monkeypatch.setattr(endpoint_module, "read_json", lambda text: pytest.fail("it was read"))
    async with opened(doorward_host, of(endpoint)) as gate:
        ((what, ok, advice),) = [check async for check in gate.search_engine().checks()]
        assert not ok
        assert "answered no embeddings of 8 texts: more than 74,178 values" in what
        assert "one vector" in advice
