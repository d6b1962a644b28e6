"""`python -m workers.deep`."""

from workers.deep.main import main

main()
