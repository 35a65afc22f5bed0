"""What tools/testenv, tools/testctl and tools/test share. Python's standard library only."""
