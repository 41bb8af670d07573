-- Pull queries by a random key for wrk. Arguments: number of keys, seed.
-- An answer counts as bad unless it is a success with a row in it.

local threads = {}

function setup(thread)
  table.insert(threads, thread)
end

function init(args)
  keys = tonumber(args[1])
  bad = 0
  math.randomseed(tonumber(args[2]))
  wrk.method = "POST"
  wrk.headers["content-type"] = "application/json"
end

function request()
  local key = math.random(0, keys - 1)
  local sql = string.format("SELECT visits FROM url_visits WHERE url='./page/%07d';", key)
  return wrk.format(nil, "/v2/statements", nil, '{"statement":"' .. sql .. '"}')
end

function response(status, headers, body)
  if status ~= 200 or not string.find(body, '"sqlState":"00000"', 1, true)
      or not string.find(body, '"data":[[', 1, true) then
    bad = bad + 1
  end
end

function done(summary, latency, requests)
  local wrong = 0
  for _, thread in ipairs(threads) do
    wrong = wrong + thread:get("bad")
  end
  local e = summary.errors
  io.write(string.format(
    'FIGURES {"requests":%d,"seconds":%.6f,"p50":%.3f,"p90":%.3f,"p99":%.3f,"max":%.3f,"bad":%d}\n',
    summary.requests, summary.duration / 1e6, latency:percentile(50) / 1e3, latency:percentile(90) / 1e3,
    latency:percentile(99) / 1e3, latency.max / 1e3, wrong + e.connect + e.read + e.write + e.timeout))
end
