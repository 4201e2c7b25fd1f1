"""The world behind HTTP on loopback, with faults and latency."""
