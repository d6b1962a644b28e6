-- Reads several things of one partition at one moment, with the store's own time: one round trip, one snapshot.
-- KEYS: every key that is read. ARGV[1]: a MessagePack list of {command, key position, arguments...}.
-- The commands in WIDE answer name by name. They take however many names, none included: a call from here takes some
-- thousands, so each is carried out in slices.
local WIDE = {HMGET = true, SMISMEMBER = true}
local SLICE = 1000
local time = redis.call('TIME')
local answer = {time[1] * 1000 + math.floor(time[2] / 1000)}
for i, read in ipairs(cmsgpack.unpack(ARGV[1])) do
  local command, key = read[1], KEYS[read[2]]
  if WIDE[command] then
    local values = {}
    for first = 3, #read, SLICE do
      for _, value in ipairs(redis.call(command, key, unpack(read, first, math.min(first + SLICE - 1, #read)))) do
        values[#values + 1] = value
      end
    end
    answer[i + 1] = values
  else
    answer[i + 1] = redis.call(command, key, unpack(read, 3))
  end
end
return answer
