-- A query over the views of shop.py; then `=>` and its columns with their rows as Python writes them, or an error's
-- name with line:column and the token that it points at.

-- by key

SELECT visits FROM visits WHERE url = './home' AND device = 'd1'
=> visits BIGINT
3

SELECT * FROM visits WHERE url = './nowhere'
=> url VARCHAR, device VARCHAR, visits BIGINT

SELECT v.*, v.visits * 2 AS twice FROM visits AS v WHERE v.url = './cart'
=> url VARCHAR, device VARCHAR, visits BIGINT, twice BIGINT
'./cart', 'd1', 2, 4

SELECT default.public.visits.visits, "default"."public".visits.url FROM visits WHERE device = 'd3'
=> visits BIGINT, url VARCHAR
2, './pay'

SELECT VISITS, "url" FROM VISITS WHERE DEVICE = 'd3'
=> visits BIGINT, url VARCHAR
2, './pay'

SELECT "Url", url, "order" FROM odd
=> Url VARCHAR, Url_2 VARCHAR, order INTEGER
'x', 'x', 1

-- order, limit, offset

SELECT url, device FROM visits ORDER BY visits DESC, url LIMIT 2
=> url VARCHAR, device VARCHAR
'./home', 'd1'
'./cart', 'd1'

SELECT url, sum(visits) AS n FROM visits GROUP BY url ORDER BY n DESC LIMIT 1
=> url VARCHAR, n BIGINT
'./home', 4

SELECT userid FROM users ORDER BY userid LIMIT 2 OFFSET 1
=> userid VARCHAR
'u2'
'u3'

SELECT userid FROM users ORDER BY 1 DESC OFFSET 3
=> userid VARCHAR
'u1'

SELECT userid FROM users ORDER BY userid LIMIT 0
=> userid VARCHAR

SELECT userid, age FROM users ORDER BY age, userid
=> userid VARCHAR, age INTEGER
'u2', None
'u1', 30
'u4', 30
'u3', 41

SELECT userid, age FROM users ORDER BY age DESC, userid DESC
=> userid VARCHAR, age INTEGER
'u3', 41
'u4', 30
'u1', 30
'u2', None

SELECT userid FROM users ORDER BY age NULLS LAST, userid
=> userid VARCHAR
'u1'
'u4'
'u3'
'u2'

SELECT userid FROM users ORDER BY age DESC NULLS FIRST, name
=> userid VARCHAR
'u2'
'u3'
'u1'
'u4'

SELECT price FROM kinds ORDER BY price DESC
=> price DECIMAL(10, 2)
Decimal('10.00')
Decimal('9.50')
None

SELECT price FROM kinds ORDER BY 1
=> price DECIMAL(10, 2)
None
Decimal('9.50')
Decimal('10.00')

SELECT -visits AS visits FROM visits ORDER BY visits LIMIT 1
=> visits BIGINT
-3

SELECT visits * 2 AS d FROM visits ORDER BY d + 1 DESC, url LIMIT 2
=> d BIGINT
6
4

SELECT url FROM visits ORDER BY length(url), url, device LIMIT 1
=> url VARCHAR
'./pay'

SELECT url FROM visits ORDER BY 'x', url DESC LIMIT 1
=> url VARCHAR
'./pay'

SELECT url FROM visits ORDER BY 2
=> COLUMN_NOT_FOUND 1:33 2

SELECT url FROM visits ORDER BY 0
=> COLUMN_NOT_FOUND 1:33 0

SELECT url FROM visits LIMIT 99999999999999999999
=> UNSUPPORTED 1:30 99999999999999999999

SELECT url FROM visits ORDER BY nothing
=> COLUMN_NOT_FOUND 1:33 nothing

-- aggregates

SELECT count(*), sum(visits), min(url), max(visits), avg(visits) FROM visits
=> count BIGINT, sum BIGINT, min VARCHAR, max BIGINT, avg DOUBLE
4, 8, './cart', 3, 2.0

SELECT count(*) AS n, count(age) AS ages, count(DISTINCT age) AS different, sum(age) AS total FROM users
=> n BIGINT, ages BIGINT, different BIGINT, total BIGINT
4, 3, 2, 101

SELECT count(*), sum(n), max(n) FROM empty
=> count BIGINT, sum BIGINT, max BIGINT
0, None, None

SELECT url, count(*) FROM empty GROUP BY url
=> url VARCHAR, count BIGINT

SELECT sum(price) AS total, max(price) AS best FROM kinds
=> total DECIMAL(38, 2), best DECIMAL(10, 2)
Decimal('19.50'), Decimal('10.00')

SELECT url, sum(visits) AS n FROM visits GROUP BY url HAVING sum(visits) > 2
=> url VARCHAR, n BIGINT
'./home', 4

SELECT url, sum(visits) AS n FROM visits GROUP BY 1 HAVING n = 2 ORDER BY 1
=> url VARCHAR, n BIGINT
'./cart', 2
'./pay', 2

SELECT upper(device) AS d, count(*) AS n FROM visits GROUP BY d ORDER BY n DESC, d
=> d VARCHAR, n BIGINT
'D1', 2
'D2', 1
'D3', 1

SELECT visits % 2 AS odd, count(*) AS n FROM visits GROUP BY visits % 2 ORDER BY odd
=> odd BIGINT, n BIGINT
0, 2
1, 2

SELECT 5 AS five, count(*) AS n FROM visits GROUP BY five
=> five INTEGER, n BIGINT
5, 4

SELECT url FROM visits GROUP BY url ORDER BY count(*) DESC, url LIMIT 1
=> url VARCHAR
'./home'

SELECT sum(visits) + 1 AS more FROM visits HAVING count(*) > 3
=> more BIGINT
9

SELECT max(length(url)) AS longest, sum(CASE WHEN visits > 1 THEN 1 ELSE 0 END) AS often FROM visits
=> longest INTEGER, often BIGINT
6, 3

SELECT url, device, sum(visits) FROM visits GROUP BY url
=> GROUP_BY_NEEDED 1:13 device

SELECT url, count(*) FROM visits
=> GROUP_BY_NEEDED 1:8 url

SELECT url || device AS both, count(*) FROM visits GROUP BY url
=> GROUP_BY_NEEDED 1:8 url

SELECT url FROM visits GROUP BY url ORDER BY device
=> GROUP_BY_NEEDED 1:46 device

SELECT url FROM visits GROUP BY url HAVING visits > 1
=> GROUP_BY_NEEDED 1:44 visits

SELECT upper(device) AS d, url FROM visits GROUP BY d
=> GROUP_BY_NEEDED 1:28 url

SELECT url FROM visits WHERE count(*) > 1
=> AGGREGATE_NOT_ALLOWED 1:30 count

SELECT count(*) AS n FROM visits GROUP BY n
=> AGGREGATE_NOT_ALLOWED 1:43 n

SELECT sum(count(*)) FROM visits
=> AGGREGATE_NOT_ALLOWED 1:8 sum

SELECT v.url FROM visits v JOIN users u ON max(u.age) = 1
=> AGGREGATE_NOT_ALLOWED 1:44 max

SELECT url FROM visits ORDER BY count(*)
=> AGGREGATE_NOT_ALLOWED 1:33 count

SELECT url FROM visits GROUP BY 3
=> COLUMN_NOT_FOUND 1:33 3

-- distinct, case

SELECT DISTINCT url FROM visits ORDER BY url DESC
=> url VARCHAR
'./pay'
'./home'
'./cart'

SELECT DISTINCT age FROM users ORDER BY age
=> age INTEGER
None
30
41

SELECT userid, CASE WHEN age > 40 THEN 'old' WHEN age IS NULL THEN 'unknown' ELSE 'young' END AS kind FROM users ORDER BY 1
=> userid VARCHAR, kind VARCHAR
'u1', 'young'
'u2', 'unknown'
'u3', 'old'
'u4', 'young'

SELECT CASE url WHEN './home' THEN 1 ELSE 0.5 END AS w FROM visits WHERE visits = 2 ORDER BY url
=> w DECIMAL(11, 1)
Decimal('0.5')
Decimal('0.5')

SELECT userid FROM users WHERE name LIKE 'A%' OR name LIKE '%''%' ORDER BY userid
=> userid VARCHAR
'u1'
'u3'

SELECT userid FROM users WHERE age BETWEEN 30 AND 40 AND device IS NOT NULL AND name <> 'ann'
=> userid VARCHAR
'u1'

SELECT userid FROM users WHERE name IN ('Bob', 'O''Hara') ORDER BY userid
=> userid VARCHAR
'u2'
'u3'

SELECT userid FROM users WHERE age NOT IN (30, 31)
=> userid VARCHAR
'u3'

-- joins

SELECT u.name, v.url FROM visits v JOIN users u ON v.device = u.device ORDER BY u.name, v.url
=> name VARCHAR, url VARCHAR
'Ann', './cart'
'Ann', './home'
'Bob', './home'

SELECT u.name, v.visits FROM users u LEFT JOIN visits v ON v.device = u.device AND v.visits > 1 ORDER BY u.userid, v.url
=> name VARCHAR, visits BIGINT
'Ann', 2
'Ann', 3
'Bob', None
"O'Hara", None
'ann', None

SELECT u.name, v.url FROM visits v RIGHT JOIN users u ON v.device = u.device WHERE v.url IS NULL ORDER BY u.name
=> name VARCHAR, url VARCHAR
"O'Hara", None
'ann', None

SELECT u.name, v.url FROM users u FULL OUTER JOIN visits v ON v.device = u.device WHERE u.name IS NULL OR v.url IS NULL ORDER BY name
=> name VARCHAR, url VARCHAR
None, './pay'
"O'Hara", None
'ann', None

SELECT count(*) AS n FROM users CROSS JOIN visits
=> n BIGINT
16

SELECT count(*) AS n FROM users, visits WHERE users.device = visits.device
=> n BIGINT
3

SELECT a.url, b.visits FROM visits a JOIN visits b ON a.url = b.url AND a.device <> b.device ORDER BY b.visits
=> url VARCHAR, visits BIGINT
'./home', 1
'./home', 3

SELECT * FROM users u JOIN visits v ON u.device = v.device WHERE u.userid = 'u2'
=> userid VARCHAR, name VARCHAR, device VARCHAR, age INTEGER, url VARCHAR, device_2 VARCHAR, visits BIGINT
'u2', 'Bob', 'd2', None, './home', 'd2', 1

SELECT * FROM users JOIN visits USING (device) WHERE userid = 'u2'
=> device VARCHAR, userid VARCHAR, name VARCHAR, age INTEGER, url VARCHAR, visits BIGINT
'd2', 'u2', 'Bob', None, './home', 1

SELECT device, u.device AS ud, v.device AS vd FROM users u FULL JOIN visits v USING (device) WHERE device IN ('d2', 'd3', 'd9') ORDER BY device
=> device VARCHAR, ud VARCHAR, vd VARCHAR
'd2', 'd2', 'd2'
'd3', None, 'd3'
'd9', 'd9', None

SELECT device, name FROM users RIGHT JOIN visits USING (device) WHERE device = 'd3'
=> device VARCHAR, name VARCHAR
'd3', None

SELECT device, a.visits AS a, b.visits AS b FROM visits a JOIN visits b USING (device, url) JOIN users USING (device) WHERE url = './cart'
=> device VARCHAR, a BIGINT, b BIGINT
'd1', 2, 2

SELECT device FROM users JOIN visits ON users.device = visits.device
=> AMBIGUOUS_COLUMN 1:8 device

SELECT u.name FROM users u JOIN visits v USING (name)
=> COLUMN_NOT_FOUND 1:49 name

SELECT u.name FROM users u JOIN visits v ON u.age
=> TYPE_MISMATCH 1:45 u

SELECT x.* FROM users u
=> RELATION_NOT_FOUND 1:8 x

-- sub-queries

SELECT max(n) AS most FROM (SELECT url, sum(visits) AS n FROM visits GROUP BY url) AS per_url
=> most BIGINT
4

SELECT per.url FROM (SELECT url, sum(visits) AS n FROM visits GROUP BY url ORDER BY n DESC LIMIT 1) per
=> url VARCHAR
'./home'

select count(*) as failures, count(*) != 0 as should_warn, count(*) != 0 as should_error from ( select url from visits where url is null ) dbt_internal_test
=> failures BIGINT, should_warn BOOLEAN, should_error BOOLEAN
0, False, False

SELECT url, visits, (SELECT max(visits) FROM visits) AS most FROM visits WHERE device = 'd2'
=> url VARCHAR, visits BIGINT, most BIGINT
'./home', 1, 3

SELECT name, (SELECT visits FROM visits WHERE device = u.device AND url = './pay') AS n FROM users u ORDER BY userid LIMIT 0
=> name VARCHAR, n BIGINT

SELECT (SELECT visits FROM visits WHERE url = './nowhere') AS n
=> n BIGINT
None

SELECT (SELECT visits FROM visits WHERE device = 'd3') + 1 AS n
=> n BIGINT
3

SELECT (SELECT visits FROM visits ORDER BY visits DESC LIMIT 1) AS n
=> n BIGINT
3

SELECT (SELECT visits FROM visits) AS n
=> SUBQUERY_SEVERAL_ROWS

SELECT url FROM visits WHERE visits > (SELECT sum(visits) FROM visits GROUP BY url)
=> SUBQUERY_SEVERAL_ROWS

SELECT name, (SELECT url FROM visits WHERE device = u.device) AS url FROM users u ORDER BY userid
=> SUBQUERY_SEVERAL_ROWS

SELECT url FROM visits WHERE visits = (SELECT max(visits) FROM visits)
=> url VARCHAR
'./home'

SELECT name FROM users WHERE device IN (SELECT device FROM visits WHERE url = './home') ORDER BY name
=> name VARCHAR
'Ann'
'Bob'

SELECT name FROM users WHERE device NOT IN (SELECT device FROM visits)
=> name VARCHAR
'ann'

SELECT name FROM users WHERE name NOT IN (SELECT device FROM users)
=> name VARCHAR

SELECT name FROM users u WHERE EXISTS (SELECT 1 FROM visits v WHERE v.device = u.device AND v.visits > 2)
=> name VARCHAR
'Ann'

SELECT name FROM users u WHERE NOT EXISTS (SELECT * FROM visits WHERE device = u.device) ORDER BY name
=> name VARCHAR
"O'Hara"
'ann'

SELECT name, (SELECT sum(visits) FROM visits WHERE device = u.device) AS n FROM users u ORDER BY userid
=> name VARCHAR, n BIGINT
'Ann', 5
'Bob', 1
"O'Hara", None
'ann', None

SELECT name FROM users u WHERE EXISTS (SELECT 1 FROM visits v WHERE v.device = u.device AND EXISTS (SELECT 1 FROM visits w WHERE w.url = v.url AND w.device <> u.device)) ORDER BY 1
=> name VARCHAR
'Ann'
'Bob'

SELECT id FROM kinds k WHERE EXISTS (SELECT 1 FROM users WHERE k.home->city = 'Bonn' AND userid = 'u1')
=> id INTEGER
1

SELECT id FROM kinds WHERE price IN (SELECT 9.5)
=> id INTEGER
1

SELECT (SELECT url, device FROM visits) AS x
=> UNSUPPORTED 1:16 url

SELECT url FROM visits WHERE url IN (SELECT visits FROM visits)
=> TYPE_MISMATCH 1:30 url

SELECT x.url FROM (SELECT nothing FROM visits) AS x
=> COLUMN_NOT_FOUND 1:27 nothing

-- set operations, WITH

SELECT url FROM visits UNION SELECT name FROM users WHERE age IS NULL ORDER BY url LIMIT 3
=> url VARCHAR
'./cart'
'./home'
'./pay'

SELECT age FROM users UNION ALL SELECT price FROM kinds ORDER BY 1 DESC NULLS LAST LIMIT 3
=> age DECIMAL(12, 2)
Decimal('41.00')
Decimal('30.00')
Decimal('30.00')

SELECT visits FROM visits UNION SELECT 2 ORDER BY visits
=> visits BIGINT
1
2
3

SELECT NULL AS x UNION ALL SELECT 1 ORDER BY x
=> x INTEGER
None
1

SELECT device FROM visits EXCEPT SELECT device FROM users
=> device VARCHAR
'd3'

SELECT device FROM visits INTERSECT SELECT device FROM users ORDER BY device
=> device VARCHAR
'd1'
'd2'

SELECT 'a' AS x UNION SELECT 'b' INTERSECT SELECT 'c'
=> x VARCHAR
'a'

SELECT 1 AS x UNION ALL SELECT 1 UNION SELECT 2 EXCEPT SELECT 1 UNION ALL SELECT 3 ORDER BY x
=> x INTEGER
2
3

SELECT 1 AS x UNION ALL SELECT 2.5 UNION ALL SELECT 1 ORDER BY x
=> x DECIMAL(11, 1)
Decimal('1.0')
Decimal('1.0')
Decimal('2.5')

(SELECT 1 AS x UNION ALL SELECT 2 ORDER BY x LIMIT 1) UNION ALL SELECT 3 ORDER BY x
=> x INTEGER
1
3

(SELECT url FROM visits ORDER BY visits DESC LIMIT 1) UNION ALL (SELECT name FROM users ORDER BY name LIMIT 1)
=> url VARCHAR
'./home'
'Ann'

SELECT count(*) AS n FROM (SELECT device FROM visits UNION SELECT device FROM users) AS every
=> n BIGINT
5

SELECT url FROM visits UNION SELECT url, device FROM visits
=> WRONG_VALUES 1:37 url

SELECT url FROM visits UNION SELECT flag FROM kinds
=> TYPE_MISMATCH 1:8 url

WITH busy AS (SELECT url, sum(visits) AS n FROM visits GROUP BY url), most AS (SELECT max(n) AS n FROM busy) SELECT busy.url FROM busy JOIN most ON busy.n = most.n
=> url VARCHAR
'./home'

WITH x AS (SELECT 1 AS a) SELECT a FROM X UNION ALL SELECT a + 1 FROM x ORDER BY a
=> a INTEGER
1
2

WITH visits AS (SELECT 'mine' AS url) SELECT * FROM visits
=> url VARCHAR
'mine'

SELECT y.a FROM (WITH x AS (SELECT 1 AS a) SELECT a FROM x) AS y JOIN x ON TRUE
=> RELATION_NOT_FOUND 1:71 x

-- types

SELECT * FROM kinds WHERE id = 1
=> id INTEGER, flag BOOLEAN, tiny TINYINT, small SMALLINT, big BIGINT, price DECIMAL(10, 2), ratio DOUBLE, part FLOAT, txt VARCHAR, raw BYTES, day DATE, clock TIME, seen TIMESTAMP(3), at TIMESTAMP_LTZ(3), tags ARRAY<VARCHAR>, scores MAP<VARCHAR, BIGINT>, home STRUCT<city VARCHAR, zip INTEGER>
1, True, 7, 300, 2**40, Decimal('9.50'), 2.5, 0.5, 'grüß', b'\x00\xff', date(2024, 2, 29), time(12, 30, 15), datetime(2024, 5, 6, 7, 8, 9, 123000), datetime(2024, 5, 6, 7, 8, 9, tzinfo=UTC), ['a', 'b'], {'k': 1}, {'city': 'Bonn', 'zip': 53111}

SELECT flag, raw, day, clock, seen, at, tags, scores, home FROM kinds WHERE id = 3
=> flag BOOLEAN, raw BYTES, day DATE, clock TIME, seen TIMESTAMP(3), at TIMESTAMP_LTZ(3), tags ARRAY<VARCHAR>, scores MAP<VARCHAR, BIGINT>, home STRUCT<city VARCHAR, zip INTEGER>
None, None, None, None, None, None, None, None, None

SELECT home->city AS city, tags[1] AS first, scores['k'] AS k, scores['no'] AS no FROM kinds WHERE id = 1
=> city VARCHAR, first VARCHAR, k BIGINT, no BIGINT
'Bonn', 'a', 1, None

SELECT id FROM kinds WHERE price < 10 AND price > 9.4 AND ratio = 2.5 AND flag AND day = DATE '2024-02-29'
=> id INTEGER
1

SELECT id FROM kinds WHERE day = '2024-02-29' AND seen < '2024-05-07' AND big > 1000000000000
=> id INTEGER
1

SELECT id FROM kinds WHERE raw = X'00FF' AND clock > TIME '12:00:00'
=> id INTEGER
1

SELECT price * 2 AS p, big + 1 AS b, ratio / 2 AS r, id / 2 AS i FROM kinds WHERE id = 1
=> p DECIMAL(21, 2), b BIGINT, r DOUBLE, i INTEGER
Decimal('19.00'), 2**40 + 1, 1.25, 0

SELECT 1 AS one, 'a' AS a, NULL AS nothing, TRUE AS yes, 1.50 AS d
=> one INTEGER, a VARCHAR, nothing VARCHAR, yes BOOLEAN, d DECIMAL(3, 2)
1, 'a', None, True, Decimal('1.50')

SELECT 1, url || 'x', upper(url), count(*) FROM visits WHERE device = 'd3' GROUP BY url
=> _col0 INTEGER, _col1 VARCHAR, upper VARCHAR, count BIGINT
1, './payx', './PAY', 1

SELECT url AS "My Url", device AS Device FROM visits WHERE device = 'd3'
=> My Url VARCHAR, device VARCHAR
'./pay', 'd3'

SELECT *
=> UNSUPPORTED 1:8 *

-- the system's tables

SELECT name, relation_type FROM deltastream.sys.relations WHERE relation_type = 'stream'
=> name VARCHAR, relation_type VARCHAR
'clicks', 'stream'

SELECT count(*) AS n FROM sys.relation_columns c JOIN deltastream.sys.relations r ON r.name = c.relation_name WHERE r.name = 'visits'
=> n BIGINT
3

SELECT * FROM deltastream.sys.nothing
=> RELATION_NOT_FOUND 1:15 deltastream

SELECT v.url FROM visits v JOIN deltastream.sys.relations r ON r.name = v.url
=> NOT_QUERYABLE

-- wrong ones

SELECT nothing FROM visits
=> COLUMN_NOT_FOUND 1:8 nothing

SELECT url
  FROM nothing
=> RELATION_NOT_FOUND 2:8 nothing

SELECT * FROM visits JOIN clicks ON TRUE
=> NOT_QUERYABLE 1:27 clicks

SELECT url FROM visits WHERE nofunction(url) = 1
=> FUNCTION_NOT_FOUND 1:30 nofunction

SELECT url FROM visits WHERE visits = 'many'
=> INVALID_CONSTANT 1:30 visits

SELECT url FROM visits WHERE url = 5
=> TYPE_MISMATCH 1:30 url

SELECT url FROM visits WHERE visits
=> TYPE_MISMATCH 1:30 visits

SELECT window_start FROM TUMBLE(visits, SIZE 5 MINUTES)
=> UNSUPPORTED 1:26 TUMBLE

SELECT rowtime() FROM visits
=> ROW_FUNCTION_NOT_ALLOWED 1:8 rowtime
