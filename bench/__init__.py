"""Measures fixturegen against what a person would use instead: `make bench`."""
