"""`python -m remembrancer.cli`."""

from remembrancer.cli.main import main

if __name__ == "__main__":
    main()
