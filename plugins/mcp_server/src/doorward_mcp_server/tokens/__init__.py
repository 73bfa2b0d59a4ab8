"""Who comes in over HTTP: bearer tokens, how they are made and what makes them good; never what a principal may do, nor
HTTP itself."""
