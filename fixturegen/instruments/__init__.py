"""What is done around or watched during a process."""
