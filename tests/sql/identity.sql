-- Statements in canonical form, one a line: each prints to itself. Lines that begin with two dashes are headings.
-- relations
CREATE STREAM clicks (event_time BIGINT, device_id VARCHAR, url VARCHAR, ip VARCHAR, userid VARCHAR) WITH ('topic' = 'clicks', 'value.format' = 'JSON', 'timestamp' = 'event_time')
CREATE STREAM IF NOT EXISTS "db"."public"."clicks" ("user" VARCHAR NOT NULL, "a""b" BOOLEAN) WITH ('store' = 'kafka', 'value.format' = 'json')
CREATE STREAM pageviews WITH ('topic' = 'pageviews', 'value.format' = 'AVRO')
CREATE STREAM bare (a INTEGER)
CREATE STREAM all_types (a BOOLEAN, b TINYINT, c SMALLINT, d INTEGER, e BIGINT, f FLOAT, g DOUBLE, h DECIMAL(18, 2), i VARCHAR(10), j DATE, k TIME, l TIME(3), m TIMESTAMP(3), n TIMESTAMP(0), o TIMESTAMP_LTZ(6), p VARBINARY, q VARBINARY(16), r BYTES) WITH ('value.format' = 'json')
CREATE STREAM nested (a ARRAY<VARCHAR>, b MAP<VARCHAR, ARRAY<INTEGER>>, c STRUCT<phone VARCHAR, city STRUCT<name VARCHAR, "zip Code" INTEGER>>, d ARRAY<STRUCT<k MAP<BIGINT, DECIMAL(5, 2)>>>) WITH ('value.format' = 'json')
CREATE STREAM keyed (id BIGINT, v DOUBLE) WITH ('topic' = 't', 'value.format' = 'json', 'key.format' = 'primitive', 'key.type' = 'BIGINT')
CREATE STREAM partitioned (id BIGINT) WITH ('topic' = 't', 'value.format' = 'json', 'topic.partitions' = 3, 'topic.replicas' = 1, 'kafka.topic.retention.ms' = '604800000', 'timestamp.format' = 'iso8601', 'starting.position' = 'earliest')
CREATE CHANGELOG users (userid VARCHAR, name VARCHAR, PRIMARY KEY (userid)) WITH ('topic' = 'users', 'value.format' = 'json', 'enable.upsert.mode' = TRUE)
CREATE CHANGELOG "db"."s"."scores" ("a" VARCHAR, "b" INTEGER, "c" DOUBLE, PRIMARY KEY ("a", "b")) WITH ('topic' = 'scores')
CREATE CHANGELOG users WITH ('topic' = 'users', 'value.format' = 'PROTOBUF')
UPDATE ENTITY orders WITH ('value.descriptor.name' = 'shop.Order', 'key.descriptor.name' = '')
CREATE STREAM orders WITH ('value.format' = 'protobuf', 'value.descriptor.name' = 'shop.Order', 'key.format' = 'protobuf', 'key.descriptor.name' = 'shop.Key', 'key.type' = 'STRUCT<id BIGINT>')
-- persistent queries
CREATE MATERIALIZED VIEW url_visits AS SELECT url, COUNT(*) AS visits FROM clicks GROUP BY url
CREATE MATERIALIZED VIEW url_device_visits AS SELECT url, device_id, COUNT(*) AS visits FROM clicks GROUP BY url, device_id
CREATE MATERIALIZED VIEW user_visits AS SELECT userid, url, device_id, COUNT(*) AS visits FROM clicks GROUP BY userid, url, device_id
CREATE MATERIALIZED VIEW IF NOT EXISTS v WITH ('retention.millis' = 86400000, 'kafka.producer.linger.ms' = '5') AS SELECT * FROM s QUERY WITH ('query.name' = 'MINE', 'query.version' = 2)
CREATE STREAM csas WITH ('topic' = 'out', 'topic.partitions' = 2, 'key.columns' = 'a,b', 'value.columns.exclude' = 'a') AS SELECT a, b, c FROM s WITH ('starting.position' = 'earliest') WHERE a > 1
CREATE CHANGELOG cas AS SELECT window_start, window_end, page, COUNT(*) AS views FROM TUMBLE(pageviews, SIZE 5 MINUTES) GROUP BY window_start, window_end, page
CREATE TABLE sink WITH ('store' = 'pg') AS SELECT * FROM s
INSERT INTO urls SELECT url FROM clicks WHERE url LIKE './%' QUERY WITH ('state.ttl.millis' = 60000)
INSERT INTO "db"."s"."t" VALUES (1, 'a', NULL, TRUE), (2, 'b''c', -1.5, FALSE)
INSERT INTO t (a, "B") VALUES (ARRAY[1, 2], MAP('k', 1)), (CAST('2024-01-02' AS DATE), X'00FF')
INSERT INTO ENTITY "e" IN STORE "s" VALUE('{"a": "it''s", "b": [1, 2]}')
INSERT INTO ENTITY "a"."b" VALUE('{}') WITH ('key' = '1')
CREATE INDEX by_url ON user_visits (url)
CREATE INDEX IF NOT EXISTS "By" ON db.s.user_visits (url, "device_id")
CREATE INDEX ON user_visits (url)
-- windows, UNNEST, sources
SELECT window_start, SUM(v) FROM HOP(s, SIZE 1 HOUR, ADVANCE BY 30 SECONDS) AS h WITH ('timestamp' = 'ts', 'source.idle.timeout.millis' = 1000) GROUP BY window_start, window_end
SELECT window_start, AVG(v), STDDEV(v), MIN(v), MAX(v) FROM CUMULATE(db.sch.s, SIZE 1 DAY, STEP 1500 MILLISECONDS) GROUP BY window_start, window_end
SELECT a FROM TUMBLE((SELECT * FROM t WHERE b = 1), SIZE 1 SECOND) WHERE a IS NOT NULL
SELECT t.v, t.pos FROM orders CROSS JOIN UNNEST(orders.items) WITH ORDINALITY AS t(v, pos)
SELECT v FROM orders AS o WITH ('starting.position' = 'latest') CROSS JOIN UNNEST(o.items->names) AS t(v) WHERE v <> 'x'
SELECT * FROM (SELECT a, COUNT(*) AS n FROM t GROUP BY a) AS x WHERE n > 1
SELECT * FROM (SELECT a FROM t) UNION ALL SELECT b FROM u ORDER BY 1 DESC NULLS LAST LIMIT 10 OFFSET 5
SELECT a FROM t UNION SELECT a FROM u
SELECT a FROM t EXCEPT SELECT a FROM u ORDER BY a LIMIT 3
SELECT a FROM t UNION SELECT a FROM u INTERSECT SELECT a FROM w
SELECT a FROM t EXCEPT (SELECT a FROM u UNION ALL SELECT a FROM w)
WITH x AS (SELECT a FROM t), "Y" AS (SELECT a FROM x WHERE a > 1) SELECT * FROM x JOIN "Y" ON x.a = "Y".a
WITH x AS (SELECT a FROM t) SELECT a FROM x UNION SELECT a FROM t ORDER BY a
SELECT * FROM (WITH x AS (SELECT 1 AS a) SELECT * FROM x) AS y
SELECT a FROM t JOIN u USING (a, "B") LEFT JOIN w USING (a)
SELECT a FROM t UNION ALL (SELECT a FROM u ORDER BY a LIMIT 1)
SELECT a.x, b.y FROM a JOIN b ON a.id = b.id LEFT JOIN c ON c.id = b.id AND c.z > 1 FULL JOIN d ON d.id = a.id RIGHT JOIN e ON TRUE CROSS JOIN f
-- queries of views, pushes
SELECT visits FROM url_visits WHERE url = './home'
SELECT url FROM url_visits ORDER BY visits DESC LIMIT 1
SELECT SUM(visits) FROM url_visits
SELECT * FROM url_visits EMIT CHANGES
SELECT * FROM clicks AS c QUERY WITH ('query.name' = 'X') EMIT CHANGES
SELECT url_visits.*, u.visits FROM url_visits JOIN url_device_visits AS u ON u.url = url_visits.url WHERE u.visits > (SELECT AVG(visits) FROM url_visits)
SELECT database_name, schema_name, name, relation_type, primary_key, "owner" FROM deltastream.sys."relations" WHERE database_name = 'db' AND schema_name IN ('a', 'b')
SELECT COUNT(*) AS failures, COUNT(*) <> 0 AS should_warn, COUNT(*) <> 0 AS should_error FROM (SELECT a FROM v WHERE a IS NULL) AS dbt_internal_test
SELECT DISTINCT userid FROM user_visits
SELECT 1
-- expressions
SELECT a + b * c - d / e % f, (a + b) * c, -a, - -b, a || 'x' || b FROM t
SELECT a AND b OR NOT c AND (d OR e), NOT a = b, NOT NOT a FROM t
SELECT a = 1, a <> 1, a < 1, a <= 1, a > 1, a >= 1 FROM t
SELECT a IS NULL, a IS NOT NULL, a IS TRUE, a IS NOT FALSE, a IS DISTINCT FROM b, a IS NOT DISTINCT FROM b FROM t
SELECT a IN (1, 2), a NOT IN ('x'), a IN (SELECT b FROM u), a NOT IN (SELECT b FROM u), EXISTS(SELECT 1 FROM u) FROM t
SELECT a BETWEEN 1 AND 2 + 3, a NOT BETWEEN b AND c FROM t
SELECT a LIKE 'x%', a NOT LIKE '%y', a LIKE '!%' ESCAPE '!', a NOT LIKE 'a!_' ESCAPE '!' FROM t
SELECT CASE WHEN a > 1 THEN 'x' WHEN a > 0 THEN 'y' ELSE 'z' END, CASE a WHEN 1 THEN 'one' END FROM t
SELECT CAST(a AS VARCHAR), TRY_CAST(a AS DECIMAL(10, 2)), CAST(a AS TIMESTAMP_LTZ(3)), CAST(a AS STRUCT<x INTEGER, y ARRAY<BYTES>>) FROM t
SELECT s->a, s->a->"B c"->timestamp, m['k'], l[1], l[1]->x['y'], (m['k'])[2], F(x)->y, m[a || 'b'] FROM t
SELECT COUNT(*), COUNT(a), COUNT(DISTINCT a), COUNT(DISTINCT a, b), SUM(DISTINCT a), LISTAGG(a, ','), LISTAGG(DISTINCT a), LATEST_BY_OFFSET(a) FROM t
SELECT UNIX_TIMESTAMP(CAST(ts AS VARCHAR), 'yyyy-MM-dd HH:mm:ss.SSS') * 1000, FROM_UNIXTIME(1), DATE_FORMAT(ts, 'yyyy'), TO_TIMESTAMP_LTZ(s, 'yyyy') FROM t
SELECT CURRENT_DATE, CURRENT_TIME, CURRENT_TIMESTAMP, LOCALTIME, LOCALTIMESTAMP, NOW(), UUID() FROM t
SELECT ROWTIME(), ROWTIME(c), ROWKEY(), ROWMETA(c)->partition, ROWMETA()->offset FROM clicks AS c
SELECT TRIM(a), TRIM(LEADING '0' FROM a), TRIM('x' FROM a), TRIM(BOTH FROM a), EXTRACT(YEAR FROM ts), EXTRACT(EPOCH FROM ts) FROM t
SELECT JSON_VALUE(a, '$.x'), JSON_VALUE(a, '$.x' RETURNING BIGINT), JSON_QUERY(a, '$.y' RETURNING ARRAY<VARCHAR>), SPLIT_INDEX(a, '/', 0), REGEXP_EXTRACT(a, '(x)(y)', 2), COALESCE(a, b, 'c') FROM t
SELECT ts + INTERVAL '5' MINUTE, ts - INTERVAL '1.5' SECOND, TIMESTAMPDIFF(DAY, a, b), TIMESTAMPADD(HOUR, 1, a), CAST('2024-01-02 03:04:05.678' AS TIMESTAMP(3)) FROM t
SELECT ARRAY[1, 2], ARRAY[], MAP('a', 1), ROW(1, 'x'), X'0A', 1.5, 1e3, 1.5E-3, NULL, TRUE, FALSE, 'it''s', '', 'line -- no /* comment */', 'back\slash' FROM t
SELECT SUBSTRING(a, 1, 2), POSITION('x', a), LEFT(a, 1), RIGHT(a, 1), IF(a, b, c), REPLACE(a, 'b', 'c'), DATE(a) FROM t
SELECT timestamp, date, time, offset, partition, key, value, "order", user, status, name, type, index, position, interval, first, last, row, year, window_start FROM t
SELECT a AS "Weird ""Name""", "b", ünïcode, _x1, a$b FROM "T-1"
-- namespaces and sessions
CREATE DATABASE db
CREATE DATABASE IF NOT EXISTS "Db"
CREATE SCHEMA s
CREATE SCHEMA IF NOT EXISTS "s" IN DATABASE "db"
CREATE SCHEMA db.s
USE DATABASE db
USE SCHEMA db.s
USE STORE "kafka"
USE ROLE sysadmin
USE ORGANIZATION o
USE COMPUTE_POOL p
SET DEFAULT DATABASE db
SET DEFAULT STORE kafka
SET
SET 'starting.position' = 'earliest'
SET 'x' = 5
UNSET 'starting.position'
CAN I CREATE_QUERY
CAN I ALL PRIVILEGES ON DATABASE db
CAN I CREATE_STORE ON ORGANIZATION
-- DROP
DROP STREAM clicks
DROP CHANGELOG IF EXISTS db.s.users
DROP MATERIALIZED VIEW url_visits
DROP TABLE t
DROP RELATION "db"."schema"."name"
DROP DATABASE db
DROP SCHEMA "db"."s"
DROP STORE s
DROP STORE IF EXISTS s
DROP SCHEMA_REGISTRY sr
DROP DESCRIPTOR_SOURCE d
DROP ENTITY "a"."b" IN STORE kafka
DROP ENTITY e
DROP INDEX by_url
-- LIST
LIST DATABASES
LIST SCHEMAS
LIST SCHEMAS IN DATABASE "db"
LIST STORES
LIST REGIONS
LIST ENTITIES
LIST ENTITIES IN STORE "s"
LIST ENTITIES IN a.b IN STORE s
LIST RELATIONS
LIST RELATIONS IN SCHEMA "db"."s"
LIST STREAMS
LIST CHANGELOGS IN SCHEMA s
LIST MATERIALIZED VIEWS
LIST TABLES
LIST COLUMNS FROM db.s.clicks
LIST QUERIES
LIST FUNCTIONS
LIST INDEXES FROM v
LIST PROPERTIES
LIST COMPUTE_POOLS
LIST FUNCTION_SOURCES
LIST DESCRIPTOR_SOURCES
LIST DESCRIPTORS
LIST SCHEMA_REGISTRIES
LIST ROLES
LIST USERS
LIST ORGANIZATIONS
LIST API_TOKENS
LIST SECRETS
LIST INVITATIONS
LIST METRICS INTEGRATIONS
LIST SECURITY INTEGRATIONS
-- DESCRIBE, EXPLAIN
DESCRIBE RELATION "db"."schema"."r"
DESCRIBE RELATION COLUMNS db.s.r
DESCRIBE STREAM clicks
DESCRIBE CHANGELOG users
DESCRIBE MATERIALIZED VIEW url_visits
DESCRIBE TABLE t
DESCRIBE DATABASE db
DESCRIBE SCHEMA db.s
DESCRIBE STORE "s"
DESCRIBE SCHEMA_REGISTRY sr
DESCRIBE DESCRIPTOR_SOURCE d
DESCRIBE ENTITY "e" IN STORE "s"
DESCRIBE QUERY 6f1c9a2e-0b7d-4c3e-9a51-1234567890ab
DESCRIBE QUERY METRICS mine:2
DESCRIBE QUERY EVENTS 6F1C9A2E-0B7D-4C3E-9A51-1234567890AB
DESCRIBE QUERY STATE "My query"
DESCRIBE QUERY HISTORY mine
DESCRIBE CREATE STREAM s AS SELECT * FROM clicks
DESCRIBE INSERT INTO s SELECT * FROM clicks
DESCRIBE SELECT * FROM clicks
EXPLAIN CREATE MATERIALIZED VIEW v AS SELECT url, COUNT(*) FROM clicks GROUP BY url
EXPLAIN SELECT * FROM url_visits EMIT CHANGES
EXPLAIN DROP STREAM clicks
-- running queries and records
TERMINATE QUERY 6f1c9a2e-0b7d-4c3e-9a51-1234567890ab
TERMINATE QUERY 12345678-1e5d-4c3e-9a51-123456789012
TERMINATE QUERY mine
RESTART QUERY "Mine"
RESTART QUERY shop.public.visits
PRINT ENTITY clicks
PRINT ENTITY "clicks-2" IN STORE "s" WITH ('from_beginning') LIMIT 5
ALTER RELATION db.s.v SET 'description' = 'Visits of a page, it''s live'
-- joins
CREATE STREAM enriched AS SELECT c.url, u.city FROM clicks AS c WITH ('starting.position' = 'earliest') JOIN users AS u WITH ('source.idle.timeout.millis' = 1000) ON c.userid = u.userid
CREATE STREAM enriched AS SELECT * FROM clicks LEFT JOIN users ON clicks.userid = users.userid JOIN cities AS c ON LOWER(users.city) = c.name AND users.zip = c.zip WHERE c.size > 1
CREATE STREAM pairs AS SELECT a.id FROM a JOIN b WITHIN 5 MINUTES ON a.id = b.id
CREATE STREAM pairs AS SELECT id, ROWTIME() AS t, ROWTIME(b) AS tb, ROWMETA(a)->"offset" AS o, ROWKEY(b) AS k FROM a LEFT JOIN b WITHIN 5 MINUTES USING (id)
CREATE STREAM lines AS SELECT t.v FROM a CROSS JOIN UNNEST(a.items) AS t(v) JOIN c USING (id)
CREATE STREAM pairs AS SELECT a.id FROM a LEFT JOIN b AS x WITH ('timestamp' = 'at') WITHIN (0 SECONDS, 90 SECONDS) GRACE PERIOD 1 HOUR ON a.id = x.id
CREATE STREAM pairs AS SELECT a.id FROM a FULL JOIN b WITHIN 1 DAY GRACE PERIOD 0 SECONDS ON a.id = b.id RIGHT JOIN c WITHIN (1 MINUTE, 2 MINUTES) ON a.id = c.id
-- stores, entities, schema registries, descriptor sources
CREATE STORE k WITH ('type' = 'KAFKA', 'uris' = 'a:9092,b:9092', 'tls.disabled' = TRUE)
CREATE STORE IF NOT EXISTS "prod_kinesis" WITH ('type' = 'KINESIS', 'access_region' = 'AWS us-east-1', 'config_file' = './kinesis.properties')
CREATE STORE msk WITH ('type' = 'KAFKA', 'uris' = 'b-1.x:9198', 'kafka.sasl.hash_function' = 'AWS_MSK_IAM', 'kafka.msk.aws_region' = 'us-east-1')
CREATE STORE ssl WITH ('type' = 'KAFKA', 'uris' = 'h:9093', 'tls.ca_cert_file' = '@ca.pem')
UPDATE STORE s WITH ('kafka.sasl.password' = 'it''s new')
CREATE ENTITY clicks
CREATE ENTITY IF NOT EXISTS "a"."b" IN STORE "s" WITH ('topic.partitions' = 3, 'kafka.topic.retention.ms' = '1000')
UPDATE ENTITY clicks IN STORE s WITH ('topic.partitions' = 6)
CREATE SCHEMA_REGISTRY sr WITH ('type' = 'CONFLUENT', 'uris' = 'http://h:8081')
UPDATE SCHEMA_REGISTRY sr WITH ('confluent.password' = 'x')
CREATE DESCRIPTOR_SOURCE d WITH ('file' = 'shop.desc')
DESCRIBE CREATE STORE s WITH ('type' = 'KAFKA', 'uris' = 'h:9092')
CREATE STREAM pageviews_kafka WITH ('store' = 'kafka_store', 'topic.partitions' = 1, 'topic.replicas' = 1) AS SELECT * FROM pageviews_kinesis
CREATE STREAM pageviews_kinesis WITH ('store' = 'kinesis_store', 'topic.shards' = 2) AS SELECT * FROM pageviews_kafka
CREATE STREAM orders (id BIGINT, item VARCHAR, price DECIMAL(9, 2)) WITH ('value.format' = 'delimited', 'value.delimiter' = 'TAB')
CREATE STREAM piped WITH ('value.format' = 'delimited', 'value.delimiter' = '|', 'key.format' = 'delimited', 'key.delimiter' = 'SPACE', 'key.columns' = 'a,b') AS SELECT a, b, c FROM s
CREATE CHANGELOG customers WITH ('topic' = 'customers', 'value.format' = 'avro', 'key.format' = 'avro')
