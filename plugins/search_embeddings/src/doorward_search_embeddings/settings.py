"""The configuration of the view: which model embeds."""

from __future__ import annotations

from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

from doorward import Secret, Settings
from pydantic import Field, PositiveFloat, PositiveInt, field_validator, model_validator


class EmbeddingSettings(Settings):
    """The keys of `[search_views.embeddings]`."""

    folder: Path | None = Field(
        None, description="A model on this machine: a folder with model.safetensors, tokenizer.json and config.json"
    )
    url: str | None = Field(
        None, description="An OpenAI-compatible address, for example http://localhost:11434/v1 (without /embeddings)"
    )
    model: str = Field("", description="The model that is asked for at `url`")
    key: Secret | None = Field(None, description="The key for `url`, for example ${OPENAI_API_KEY}")
    dimensions: PositiveInt | None = Field(
        None, description="Numbers in a vector, if the model can give fewer than it usually does"
    )
    timeout: PositiveFloat = Field(30.0, description="Seconds that one request to `url` may take")
    max_characters: PositiveInt = Field(
        4000, description="Characters of a text that are embedded: some endpoints refuse what is too long for a model"
    )
    question_prefix: str = Field("", description='What a model wants before a question, for example "query: "')
    text_prefix: str = Field("", description='What it wants before the text of a function, for example "passage: "')

    @field_validator("url")
    @classmethod
    def _url(cls, value: str | None) -> str | None:
        if value is None:
            return None
        parts = urlsplit(value)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
            raise ValueError("must be an http or https URL without a query")
        if "@" in parts.netloc:
            raise ValueError("must not hold a user or a password; use `key`")
        return value.rstrip("/")

    @model_validator(mode="after")
    def _one_model(self) -> Self:
        if (self.folder is None) == (self.url is None):
            raise ValueError("name one model: a `folder` on this machine, or the `url` of an endpoint")
        if self.url is not None and not self.model:
            raise ValueError("`url` needs a `model`: the endpoint may have several")
        only_of_endpoints = {"model", "key", "dimensions", "timeout"} & self.model_fields_set
        if self.folder is not None and only_of_endpoints:
            raise ValueError(f"{', '.join(sorted(only_of_endpoints))}: for `url` only; a `folder` is a whole model")
        return self
