"""What the processes of the service say among themselves."""
