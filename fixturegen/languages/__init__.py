"""How each language's sources are laid out, compiled and described. One module a language."""

from fixturegen.languages.base import Language, Plan, Rendered, same_flags
from fixturegen.languages.c import C
from fixturegen.languages.rust import RUST
from fixturegen.languages.system import SYSTEM_PROGRAMS, package

LANGUAGES: dict[str, Language] = {
    language.name: language for language in (C, RUST, SYSTEM_PROGRAMS)
}

__all__ = ["LANGUAGES", "Language", "Plan", "Rendered", "package", "same_flags"]
