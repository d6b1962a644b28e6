"""Remembrancer: a memory service for AI-agent back ends."""
