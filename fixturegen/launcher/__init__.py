"""Starts fresh processes: a small C program that is kept, and the protocol of its pipes."""

from fixturegen.launcher.client import Launcher, Outcome
from fixturegen.launcher.compiling import build_launcher
from fixturegen.launcher.start import Start, environment, padded_environments

__all__ = [
    "Launcher",
    "Outcome",
    "Start",
    "build_launcher",
    "environment",
    "padded_environments",
]
