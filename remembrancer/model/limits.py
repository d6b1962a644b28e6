"""Lengths of texts in requests, in code points, and how many entries lists may have."""

from __future__ import annotations

from typing import Final

CONTENT_LENGTH: Final = 16000
TEXT_LENGTH: Final = 4000
NAME_LENGTH: Final = 256

STEPS: Final = 64
CAVEATS: Final = 16
STEP_LENGTH: Final = 1000
"""Length of one step and of one caveat of a procedure."""

PROCEDURE_LENGTH: Final = 2 * TEXT_LENGTH + STEPS * STEP_LENGTH + STEPS + 1
"""Length of a procedure's searched text: goal, summary and steps, one a line."""
