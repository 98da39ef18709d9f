"""How every command is asked for its help; a module of its own, so that it costs no import."""

# Given to each command, not only to the group: one may be invoked without the group above it.
HELP_OPTIONS = {"help_option_names": ["-h", "--help"]}
