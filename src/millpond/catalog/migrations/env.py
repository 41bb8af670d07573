"""Alembic's entry: runs the migrations on the connection and in the transaction that `database.migrate`
gives it."""

from alembic import context

from millpond.catalog.tables import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata, transactional_ddl=True)
context.run_migrations()
