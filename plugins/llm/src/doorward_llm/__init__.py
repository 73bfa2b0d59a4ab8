"""The source `llm`: programs ask a model, that of their client or that of a provider."""

from doorward_llm.source import LLM

__all__ = ["LLM"]
