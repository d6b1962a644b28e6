"""`python -m services.gateway`."""

from services.gateway.main import main

main()
