"""What a request costs, by the operator's prices, else by the list that comes with `genai-prices`.

That library reads a file of its own. It can fetch a newer list from the network; it is never asked to.
"""

from __future__ import annotations

from doorward_llm.settings import LLMSettings


def cost_of(settings: LLMSettings, model: str, input_tokens: int, output_tokens: int) -> float | None:
    """Dollars for these tokens; `None` if nobody knows the price."""
    if price := settings.prices.get(model):
        return (input_tokens * price.input + output_tokens * price.output) / 1e6
    import genai_prices

    usage = genai_prices.Usage(input_tokens=input_tokens, output_tokens=output_tokens)
    try:
        return float(genai_prices.calc_price(usage, model, provider_api_url=settings.address).total_price)
    except LookupError:
        return None
