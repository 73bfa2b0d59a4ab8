"""Pins: agents see the functions of a server as a person last reviewed them."""

from __future__ import annotations

from doorward_pins.plugin import PINS as PINS
from doorward_pins.plugin import Pins as Pins
from doorward_pins.settings import PinsSettings as PinsSettings

__all__ = ["PINS", "Pins", "PinsSettings"]
