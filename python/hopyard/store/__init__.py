"""The store of results: a database and files in a folder."""
