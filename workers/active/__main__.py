"""`python -m workers.active`."""

from workers.active.main import main

main()
