"""What a person reads: tables, sheets, advice and progress."""
