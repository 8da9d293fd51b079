"""What people see of a study: plots, one HTML file, Markdown, a block to paste. Reads records, writes nothing."""
