-- Other ways to write a statement, with its canonical form after =>. A blank line ends a case.

create stream "db"."public"."clicks" (`event_time` bigint, `url` string not null, n int null)
  with ('topic' = "clicks", 'VALUE.FORMAT' = json, 'x' = True, 'y' = false, 'p' = -1.5, 'store' = kafka);
=> CREATE STREAM "db"."public"."clicks" ("event_time" BIGINT, "url" VARCHAR NOT NULL, n INTEGER) WITH ('topic' = 'clicks', 'value.format' = 'JSON', 'x' = TRUE, 'y' = FALSE, 'p' = -1.5, 'store' = 'KAFKA')

create changelog c (a int, b timestamp, c timestamp_ltz, d decimal, e decimal(7), f time(0), primary key(a)) with (topic = 'x', value.format = 'json')
=> CREATE CHANGELOG c (a INTEGER, b TIMESTAMP(3), c TIMESTAMP_LTZ(3), d DECIMAL(10, 0), e DECIMAL(7, 0), f TIME(0), PRIMARY KEY (a)) WITH ('topic' = 'x', 'value.format' = 'json')

CREATE CHANGELOG c (id INT PRIMARY KEY, v STRUCT<eventName STRING, "Other" numeric(3, 1), user real>)
=> CREATE CHANGELOG c (id INTEGER, v STRUCT<"eventName" VARCHAR, "Other" DECIMAL(3, 1), user FLOAT>, PRIMARY KEY (id))

SHOW SCHEMAS IN DATABASE "db"
=> LIST SCHEMAS IN DATABASE "db"

show relations in db.s
=> LIST RELATIONS IN SCHEMA db.s

show columns in clicks
=> LIST COLUMNS FROM clicks

list topics in store k
=> LIST ENTITIES IN STORE k

list views
=> LIST MATERIALIZED VIEWS

list indexes on v
=> LIST INDEXES FROM v

describe clicks
=> DESCRIBE RELATION clicks

describe query
=> DESCRIBE RELATION query

describe stream
=> DESCRIBE RELATION stream

DESCRIBE MATERIALIZED VIEW v
=> DESCRIBE MATERIALIZED VIEW v

desc relation columns r
=> DESCRIBE RELATION COLUMNS r

can i create_query;
=> CAN I CREATE_QUERY

terminate 6f1c9a2e-0b7d-4c3e-9a51-1234567890ab
=> TERMINATE QUERY 6f1c9a2e-0b7d-4c3e-9a51-1234567890ab

terminate query 'mine'
=> TERMINATE QUERY "mine"

restart query mine
=> RESTART QUERY mine

print topic "e" with ('from_beginning' = true)
=> PRINT ENTITY "e" WITH ('from_beginning')

print clicks from beginning limit 3
=> PRINT ENTITY clicks WITH ('from_beginning') LIMIT 3

alter relation r set description = 'x', 'Other.Key' = 5
=> ALTER RELATION r SET 'description' = 'x', 'other.key' = 5

insert into entity "e" in store "s" values ('{"a":1}')
=> INSERT INTO ENTITY "e" IN STORE "s" VALUE('{"a":1}')

insert into entity values (1)
=> INSERT INTO entity VALUES (1)

insert into r (select a from b)
=> INSERT INTO r SELECT a FROM b

create stream r as (select a from b)
=> CREATE STREAM r AS SELECT a FROM b

select a b, c "d" from t u
=> SELECT a AS b, c AS "d" FROM t AS u

select all a != 1, +b from t, u inner join v on t.a = v.a left outer join w on w.a = v.a
=> SELECT a <> 1, b FROM t CROSS JOIN u JOIN v ON t.a = v.a LEFT JOIN w ON w.a = v.a

select date '2024-01-02', timestamp '2024-01-02 03:04:05', interval 5 minutes, current_timestamp(), x'ab'
=> SELECT CAST('2024-01-02' AS DATE), CAST('2024-01-02 03:04:05' AS TIMESTAMP(3)), INTERVAL '5' MINUTE, CURRENT_TIMESTAMP, X'AB'

select substring(a from 2 for 3), substring(a from 2), position('x' in a), map['a', 1], json_query(a, '$.b' returning array<varchar>), json_value(a, '$.b' returning int) from t
=> SELECT SUBSTRING(a, 2, 3), SUBSTRING(a, 2), POSITION('x', a), MAP('a', 1), JSON_QUERY(a, '$.b' RETURNING ARRAY<VARCHAR>), JSON_VALUE(a, '$.b' RETURNING INTEGER) FROM t

select a from tumble(t, size 60 seconds) x with ('a' = 1)
=> SELECT a FROM TUMBLE(t, SIZE 1 MINUTE) AS x WITH ('a' = 1)

select v from t cross join unnest(a) as u(v)
=> SELECT v FROM t CROSS JOIN UNNEST(a) AS u(v)

select v from t, unnest(a) with ordinality u(v, n)
=> SELECT v FROM t CROSS JOIN UNNEST(a) WITH ORDINALITY AS u(v, n)

select a from t emit changes limit 5
=> SELECT a FROM t LIMIT 5 EMIT CHANGES

select a from t emit changes query with ('query.name' = x)
=> SELECT a FROM t QUERY WITH ('query.name' = 'X') EMIT CHANGES

(select a from t union distinct select b from u)
=> SELECT a FROM t UNION SELECT b FROM u

select a from t order by a asc nulls first, b desc limit 5 offset 2
=> SELECT a FROM t ORDER BY a NULLS FIRST, b DESC LIMIT 5 OFFSET 2

select a from t order by a offset 2 limit 5
=> SELECT a FROM t ORDER BY a LIMIT 5 OFFSET 2

select -- what we want
  a /* and 'this; */ , 'b;c'
from t
=> SELECT a, 'b;c' FROM t

SELECT ‘a’, “B c”, ‘it’’s’, 'keep ’ this', "and “this”" FROM t
=> SELECT 'a', "B c", 'it''s', 'keep ’ this', "and “this”" FROM t

SELECT * FROM a WHERE x IN (1) AND y NOT IN (SELECT 1)
=> SELECT * FROM a WHERE x IN (1) AND y NOT IN (SELECT 1)

set auto.offset.reset = earliest
=> SET 'auto.offset.reset' = 'EARLIEST'

describe select 1
=> DESCRIBE SELECT 1

create topic clicks in store k with (topic.partitions = 2)
=> CREATE ENTITY clicks IN STORE k WITH ('topic.partitions' = 2)

update topic clicks with ('topic.partitions' = 3)
=> UPDATE ENTITY clicks WITH ('topic.partitions' = 3)

drop topic clicks in store k
=> DROP ENTITY clicks IN STORE k

insert into topic clicks value('{}')
=> INSERT INTO ENTITY clicks VALUE('{}')

CREATE STORE s WITH ('type' = KINESIS, 'access_region' = "AWS us-east-1")
=> CREATE STORE s WITH ('type' = 'KINESIS', 'access_region' = 'AWS us-east-1')
