"""The lines by which we know our own words again when they come back in a reply."""

# In every letter to a player, before all that is ours: what stands below it is quoted.
MARKER = "##- Write your orders above this line -##"

# Round the order form of a report: a line filled in between them counts, quoted or not.
FORM_BEGIN = "#-- Order form: fill in the blanks, here or in your reply --#"
FORM_END = "#-- End of the order form --#"
