"""Commands on memories: for people, with progress bars, and for scripts, with `--json`."""
