"""What a guarantee relies on because it happened before records came here, in sentences. Public."""

from __future__ import annotations

READING = (
    "Of the containers that records came in, only the class, the column names and, where the "
    "number of records is public, the number of rows are taken as public; types are not. What no "
    "function of one cell repairs was decided by a rule that no record takes part in "
    "(tacit.read_table is one): decimals of more than 12 digits, whole numbers of more than 15 "
    "and zero-padded ones of more than 17 that pandas 2 read; times parsed from texts other than "
    "a date like 2020-03-04, alone or with a time of the day and a zone; the unit of a NumPy array "
    "of dates that it cannot hold, such as nanoseconds before 1678 or after 2261; types computed "
    "from the records; numbers of 32 bits or less beside texts in a NumPy array; and containers of "
    "values of several kinds that drop part of a value. Every line of a private text file ends in "
    "LF, the last one too."
)
"""What no canonical form can repair (``docs/proofs/reading.md``)."""

LAST_DIGIT = (
    "Points are compared to the last digit, so pandas 2 read no numbers with exponents or of more "
    "than 12 digits."
)
"""What learners over hypotheses rely on besides ``READING``."""

KEEPS_ROW = "A replaced record keeps its row: the order of rows is not protected."
