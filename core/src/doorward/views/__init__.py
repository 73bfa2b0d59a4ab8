"""Search views at work: what they embed, kept and compared.

Never how the words of a question are ranked, nor who may be shown what a view finds.
"""
