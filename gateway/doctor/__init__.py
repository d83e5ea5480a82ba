"""What `postroom doctor` looks at, a module for each area: every check says what it saw and what to do."""

from gateway.doctor.examine import Area, examine

__all__ = ["Area", "examine"]
