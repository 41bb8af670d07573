"""The catalog's migrations, one numbered file each in `versions`, run by Alembic when a catalog is opened."""
