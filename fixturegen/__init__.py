"""Programs, measurements and text fixtures that a performance article can stand on."""

__version__ = "0.1.0"
