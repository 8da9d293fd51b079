"""What the traffic of a trace looks like: pictures, tables, sentences and one HTML page."""
