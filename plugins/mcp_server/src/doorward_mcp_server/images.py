"""The images that a run has produced, as MCP content beside its text."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import replace

import mcp_types as t
from doorward import Gateway, Outcome, StateError, UnknownName
from doorward.serving import kind_of

MAX_IMAGES = 4
"""Images in one answer."""

MAX_IMAGE_BYTES = 2**20
"""Largest image that is shown."""

_MEDIA_TYPES = ("image/png", "image/jpeg", "image/gif", "image/webp")
"""Types by content. A client may hand an image to its model unread, and a false one would break the conversation."""


async def shown(gate: Gateway, outcome: Outcome, principal: str) -> tuple[Outcome, Sequence[t.ImageContent]]:
    """The images among the artefacts of an outcome, and the outcome, with a note if some images were left out."""
    images: list[t.ImageContent] = []
    left_out = 0
    for artefact in outcome.artefacts:
        if artefact.type.partition(";")[0] not in _MEDIA_TYPES:
            continue
        if len(images) == MAX_IMAGES or artefact.bytes > MAX_IMAGE_BYTES:
            left_out += 1
            continue
        try:
            content = (await gate.file(artefact.uri, principal=principal)).content
        except (StateError, UnknownName):  # the store cannot be read, or newer artefacts have displaced it
            continue
        if (kind := kind_of(content)) in _MEDIA_TYPES:
            images.append(t.ImageContent(data=base64.b64encode(content).decode(), mime_type=kind))
    if left_out:
        images_are = "image is" if left_out == 1 else "images are"
        note = f"{left_out} more {images_are} not shown (at most {MAX_IMAGES} of 1 MiB): read the artefacts"
        outcome = replace(outcome, notes=(*outcome.notes, note))
    return outcome, images
