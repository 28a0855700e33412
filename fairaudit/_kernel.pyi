# The functions of fairaudit/kernel/*.c, for those who import it by name.
