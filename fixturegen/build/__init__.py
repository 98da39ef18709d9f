"""Toolchains, plans, what is up to date, what a binary is."""

from fixturegen.build.making import Built, make, work_folder

__all__ = ["Built", "make", "work_folder"]
