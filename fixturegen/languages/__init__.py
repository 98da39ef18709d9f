"""How each language's sources are laid out, compiled and described. One module a language."""

from fixturegen.languages.protocol import Language, Plan, Rendered, Tool, same_flags
from fixturegen.languages.registry import GROUP, LANGUAGES, MEMBERS
from fixturegen.languages.system import package

__all__ = [
    "GROUP",
    "LANGUAGES",
    "MEMBERS",
    "Language",
    "Plan",
    "Rendered",
    "Tool",
    "package",
    "same_flags",
]
