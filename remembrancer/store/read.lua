-- Reads several things of one partition at one moment, with the store's own time: one round trip, one snapshot.
-- KEYS: every key that is read. ARGV[1]: a MessagePack list of {command, key position, arguments...}.
local time = redis.call('TIME')
local answer = {time[1] * 1000 + math.floor(time[2] / 1000)}
for i, read in ipairs(cmsgpack.unpack(ARGV[1])) do
  local arguments = {}
  for j = 3, #read do arguments[j - 2] = read[j] end
  answer[i + 1] = redis.call(read[1], KEYS[read[2]], unpack(arguments))
end
return answer
