-- Sends each request of a file once, and ends with the last answer. wrk asks for a delay before every request, so the number of
-- times it asked, less the first of each connection, is the number of answers. With a rate the delay of each request is the time until
-- its turn; who is behind goes at once.

local ffi = require("ffi")
ffi.cdef([[
  typedef struct { long seconds; long microseconds; } moment;
  int gettimeofday(moment *now, void *zone);
  int getpid(void);
  int kill(int process, int signal);
]])

local SIGINT = 2
local NEVER_MS = 3600000
local requests, connections, rate = {}, 0, 0
local given, handed, asked = 0, 0, 0
local verified = false
local thread

-- Of the thread: read by `done`, which runs outside of it.
began, ended = 0, 0

local function clock()
  local now = ffi.new("moment")
  ffi.C.gettimeofday(now, nil)
  return tonumber(now.seconds) + tonumber(now.microseconds) / 1e6
end

function setup(only)
  thread = only
end

function init(args)
  connections = tonumber(args[2])
  rate = tonumber(args[3])
  local file = assert(io.open(args[1], "rb"))
  for each in file:read("*a"):gmatch("[^%z]+") do requests[#requests + 1] = each end
  file:close()
end

function delay()
  if asked == 0 then began = clock() end
  asked = asked + 1
  ended = clock()
  -- wrk itself would go on until its time is over.
  if asked - connections >= #requests then ffi.C.kill(ffi.C.getpid(), SIGINT) end
  if handed == #requests then return NEVER_MS end
  handed = handed + 1
  if rate == 0 then return 0 end
  return math.max(0, (began + (handed - 1) / rate - ended) * 1000)
end

function request()
  -- Asked for once before the start, to see whether it is HTTP.
  if not verified then
    verified = true
    return requests[1]
  end
  given = given + 1
  return requests[given]
end

function done(summary, latency)
  local points = {}
  for permille = 1, 1000 do points[permille] = string.format("%.3f", latency:percentile(math.min(permille / 10, 99.999)) / 1000) end
  local errors = summary.errors
  io.write(string.format('\n{"answered":%d,"refused":%d,"failed":%d,"seconds":%.6f,"latencies":[%s]}\n', summary.requests, errors.status,
    errors.connect + errors.read + errors.write + errors.timeout, thread:get("ended") - thread:get("began"), table.concat(points, ",")))
end
