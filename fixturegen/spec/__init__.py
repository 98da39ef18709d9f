"""The text of fixture.toml to a Fixture; an error names file, key and value."""

from fixturegen.spec.convert import load

__all__ = ["load"]
