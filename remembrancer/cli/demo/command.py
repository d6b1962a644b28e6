"""`remembrancer demo`."""

from rich.console import Console


def demo(console: Console) -> None:
    """Tell."""
