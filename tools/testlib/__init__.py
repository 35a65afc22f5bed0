"""Shared parts of tools/testenv, tools/testctl, tools/test and others. They use Python's standard library only."""
