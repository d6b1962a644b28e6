"""A start that is refused: one line for the operator and an exit code, never a stack."""

from __future__ import annotations

BAD_SETTING = 2
"""Exit code: a setting is missing, malformed or out of range."""

WRONG_MODEL = 3
"""Exit code: the encoder does not have the model whose vectors the store serves."""

CANNOT_RUN = 1
"""Exit code: anything else that makes running impossible, such as an address in use."""


class StartRefused(Exception):
    """The process must not start (or go on); the message is one line for the operator."""

    def __init__(self, message: str, code: int = CANNOT_RUN) -> None:
        """Take the line and the exit code."""
        super().__init__(" ".join(message.split()))
        self.code = code
