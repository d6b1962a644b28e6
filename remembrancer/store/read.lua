-- Reads several things of one partition at one moment, with the store's own time: one round trip, one snapshot.
-- KEYS: every key that is read. ARGV[1]: a MessagePack list of {command, key position, arguments...}.
-- Answers the time, the positions of keys that have another type than their command needs, and the answers; such a key
-- is answered as an absent one.
-- The commands in WIDE answer name by name. They take however many names, none included: a call from here takes some
-- thousands, so each is carried out in slices.
local WIDE = {HMGET = true, SMISMEMBER = true}
local NONE = {HGET = false, GET = false, HEXISTS = 0, SISMEMBER = 0, HLEN = 0, LLEN = 0, SCARD = 0, ZCARD = 0, ZCOUNT = 0}
local SLICE = 1000
local time = redis.call('TIME')
local mistyped = {}
local answer = {time[1] * 1000 + math.floor(time[2] / 1000), mistyped}

local function absent(command, arguments)
  local values = {}
  if WIDE[command] then
    for i = 1, arguments do values[i] = command == 'SMISMEMBER' and 0 end
  elseif command == 'HSCAN' then
    values = {'0', {}}
  elseif NONE[command] ~= nil then
    return NONE[command]
  end
  return values
end

local function carried_out(command, position, ...)
  local found = redis.pcall(command, KEYS[position], ...)
  if type(found) ~= 'table' or not found.err then return found end
  if not string.find(found.err, 'WRONGTYPE', 1, true) then error(found) end
  mistyped[#mistyped + 1] = position
  return absent(command, select('#', ...))
end

for i, read in ipairs(cmsgpack.unpack(ARGV[1])) do
  local command, position = read[1], read[2]
  if WIDE[command] then
    local values = {}
    for first = 3, #read, SLICE do
      local last = math.min(first + SLICE - 1, #read)
      for _, value in ipairs(carried_out(command, position, unpack(read, first, last))) do
        values[#values + 1] = value
      end
    end
    answer[i + 2] = values
  else
    answer[i + 2] = carried_out(command, position, unpack(read, 3))
  end
end
return answer
