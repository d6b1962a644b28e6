"""`python -m workers.encoder`."""

from workers.encoder.main import main

main()
