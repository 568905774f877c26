"""Reading a damaged SQLite file page by page, without SQLite, which stops at the first damage."""
