"""What a call brings along: who calls, its time, checks of single fields, pages of lists."""
