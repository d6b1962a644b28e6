"""The command `remembrancer`: runs the service on one machine, and shows what it does."""
