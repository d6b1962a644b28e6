"""Sizes that servers and channels agree on, in bytes."""

MAX_RECEIVE = 16 * 1024 * 1024 + 64 * 1024
"""Largest request: 16 MiB of content and what surrounds it."""

MAX_SEND = 8 * 1024 * 1024
"""Largest answer. Public answers stay under 4 MiB, vectors of a full batch of long texts need more."""

MAX_METADATA = 16 * 1024
"""Metadata of one call; error details are up to 4 KB before base64."""
