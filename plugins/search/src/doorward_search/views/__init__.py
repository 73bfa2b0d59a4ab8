"""Search views at work: what they embed, kept and compared."""
