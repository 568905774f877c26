"""`headway prove`: real servers, workers and clients are killed, and nothing acknowledged is lost.

Each process writes what it was told and what it did into a ledger of its own. In the end the
ledgers are compared with the store. Only what any user has is used: the programs `headway serve`,
`headway worker` and `headway verify`, HTTP, and handlers.
"""
