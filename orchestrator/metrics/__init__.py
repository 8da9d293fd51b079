"""From request records to one measurement: one function per formula of docs/GLOSSARY.md. Does no I/O."""
