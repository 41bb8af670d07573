BEGIN TRANSACTION;
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "alembic_version" VALUES('0001');
CREATE TABLE catalog_version (
	only BOOLEAN NOT NULL, 
	version BIGINT NOT NULL, 
	CONSTRAINT pk_catalog_version PRIMARY KEY (only)
);
INSERT INTO "catalog_version" VALUES(1,8);
CREATE TABLE databases (
	name TEXT NOT NULL, 
	owner TEXT NOT NULL, 
	created_at BIGINT NOT NULL, 
	CONSTRAINT pk_databases PRIMARY KEY (name)
);
INSERT INTO "databases" VALUES('default','sysadmin',1700000000000);
CREATE TABLE defaults (
	kind TEXT NOT NULL, 
	name TEXT NOT NULL, 
	CONSTRAINT pk_defaults PRIMARY KEY (kind)
);
INSERT INTO "defaults" VALUES('schema','public');
CREATE TABLE indexes (
	relation TEXT NOT NULL, 
	name TEXT NOT NULL, 
	columns TEXT NOT NULL, 
	created_at BIGINT NOT NULL, 
	CONSTRAINT pk_indexes PRIMARY KEY (relation, name), 
	CONSTRAINT fk_indexes_relations FOREIGN KEY(relation) REFERENCES relations (id)
);
INSERT INTO "indexes" VALUES('22222222-2222-4222-8222-222222222222','by_tags','["tags"]',1700000000000);
CREATE TABLE queries (
	id TEXT NOT NULL, 
	name TEXT, 
	version INTEGER NOT NULL, 
	sql TEXT NOT NULL, 
	sink TEXT NOT NULL, 
	sources TEXT NOT NULL, 
	owner TEXT NOT NULL, 
	intended_state TEXT NOT NULL, 
	state TEXT NOT NULL, 
	created_at BIGINT NOT NULL, 
	updated_at BIGINT NOT NULL, 
	"database" TEXT NOT NULL, 
	schema TEXT NOT NULL, 
	store TEXT NOT NULL, 
	error TEXT NOT NULL, 
	mode TEXT NOT NULL, 
	mode_reason TEXT NOT NULL, 
	properties TEXT NOT NULL, 
	CONSTRAINT pk_queries PRIMARY KEY (id)
);
INSERT INTO "queries" VALUES('33333333-3333-4333-8333-333333333333','count_visits',1,'CREATE MATERIALIZED VIEW url_visits AS SELECT url, count(*) AS visits FROM clicks GROUP BY url','22222222-2222-4222-8222-222222222222','["11111111-1111-4111-8111-111111111111"]','sysadmin','running','running',1700000000000,1700000000000,'default','public','kafka','','','','{"query.name":"count_visits"}');
CREATE TABLE relations (
	id TEXT NOT NULL, 
	"database" TEXT NOT NULL, 
	schema TEXT NOT NULL, 
	name TEXT NOT NULL, 
	kind TEXT NOT NULL, 
	columns TEXT NOT NULL, 
	primary_key TEXT NOT NULL, 
	store TEXT NOT NULL, 
	topic TEXT NOT NULL, 
	value_format TEXT NOT NULL, 
	key_format TEXT, 
	key_type TEXT, 
	key_columns TEXT NOT NULL, 
	timestamp_column TEXT, 
	timestamp_format TEXT NOT NULL, 
	owner TEXT NOT NULL, 
	created_at BIGINT NOT NULL, 
	updated_at BIGINT NOT NULL, 
	description TEXT NOT NULL, 
	properties TEXT NOT NULL, 
	state TEXT NOT NULL, 
	CONSTRAINT pk_relations PRIMARY KEY (id), 
	CONSTRAINT uq_relations UNIQUE ("database", schema, name), 
	CONSTRAINT fk_relations_stores FOREIGN KEY(store) REFERENCES stores (name), 
	CONSTRAINT fk_relations_schemas FOREIGN KEY("database", schema) REFERENCES schemas ("database", name)
);
INSERT INTO "relations" VALUES('11111111-1111-4111-8111-111111111111','default','public','clicks','stream','[["event_time","BIGINT",true],["url","VARCHAR",false]]','[]','kafka','clicks','json',NULL,NULL,'[]','event_time','sql','sysadmin',1700000000000,1700000000000,'','{"topic":"clicks","value.format":"json"}','created');
INSERT INTO "relations" VALUES('22222222-2222-4222-8222-222222222222','default','public','url_visits','view','[["url","VARCHAR",true],["tags","ARRAY<STRUCT<\"Phone\" VARCHAR>>",true]]','["url"]','kafka','url_visits','json','json','STRUCT<url VARCHAR, raw BYTES>','["url"]','event_time','sql','sysadmin',1700000000000,1700000000000,'Visits by url','{"topic":"clicks","value.format":"json"}','created');
CREATE TABLE schemas (
	"database" TEXT NOT NULL, 
	name TEXT NOT NULL, 
	owner TEXT NOT NULL, 
	created_at BIGINT NOT NULL, 
	CONSTRAINT pk_schemas PRIMARY KEY ("database", name), 
	CONSTRAINT fk_schemas_databases FOREIGN KEY("database") REFERENCES databases (name)
);
INSERT INTO "schemas" VALUES('default','public','sysadmin',1700000000000);
CREATE TABLE session_settings (
	session TEXT NOT NULL, 
	"key" TEXT NOT NULL, 
	value TEXT NOT NULL, 
	CONSTRAINT pk_session_settings PRIMARY KEY (session, "key")
);
INSERT INTO "session_settings" VALUES('s','k','v');
CREATE TABLE store_secrets (
	store TEXT NOT NULL, 
	sealed BLOB NOT NULL, 
	CONSTRAINT pk_store_secrets PRIMARY KEY (store), 
	CONSTRAINT fk_store_secrets_stores FOREIGN KEY(store) REFERENCES stores (name)
);
CREATE TABLE stores (
	name TEXT NOT NULL, 
	type TEXT NOT NULL, 
	properties TEXT NOT NULL, 
	owner TEXT NOT NULL, 
	created_at BIGINT NOT NULL, 
	updated_at BIGINT NOT NULL, 
	status TEXT NOT NULL, 
	status_message TEXT NOT NULL, 
	CONSTRAINT pk_stores PRIMARY KEY (name)
);
INSERT INTO "stores" VALUES('kafka','KAFKA','{"uris":"localhost:9092"}','sysadmin',1700000000000,1700000000000,'ready','');
COMMIT;
