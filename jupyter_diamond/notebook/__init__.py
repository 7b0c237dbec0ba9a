"""What runs in the kernel: client, magics, the live card."""
