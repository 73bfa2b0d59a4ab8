"""One call as HTTP: its request, its answer, the page after it.

Never the document.
"""
