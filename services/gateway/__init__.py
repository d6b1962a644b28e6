"""The public server: validates, keeps the ledger, asks the tiers, assembles answers."""
