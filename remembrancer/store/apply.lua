#!lua
-- Applies one change to one partition, or nothing at all. KEYS: every key that the plan names. ARGV[1]: the plan in
-- MessagePack (see store/change.py, which is the only writer of plans). Rules live in Python; this script only compares
-- what was read with what is there, allocates sequence numbers and writes.
-- The store does not undo what a script wrote before one of its commands failed. So everything a command could fail on
-- is looked at before the first write: types of keys, numbers to be increased, the feed's order. The first line has the
-- store refuse the whole script when it is out of memory, instead of the first command that needs more.
local TYPES = {
  HSET = 'hash', HDEL = 'hash', HINCRBY = 'hash', SADD = 'set', SREM = 'set', ZADD = 'zset', ZREM = 'zset',
  ZREMRANGEBYSCORE = 'zset',  RPUSH = 'list', LREM = 'list', SET = 'any', DEL = 'any', UNLINK = 'any', PEXPIRE = 'any',
}
local GROWS = {HSET = true, HINCRBY = true, SADD = true, ZADD = true, RPUSH = true}
local COUNTED = {LLEN = 'list', HLEN = 'hash', SCARD = 'set', ZCARD = 'zset', EXISTS = 'any'}
local ARGUMENTS = 7000 -- A call from here takes some more.
local NUMBER = '^%d+$'
local LARGEST = 2 ^ 53 - 10 ^ 6 -- The script's numbers are exact up to 2 ^ 53.

local plan = cmsgpack.unpack(ARGV[1])
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local types = {}
local function fits(position, wanted)
  if not types[position] then types[position] = redis.call('TYPE', KEYS[position]).ok end
  return wanted == 'any' or types[position] == 'none' or types[position] == wanted
end
local function damaged(position) return {'DAMAGED', now, position} end
local function counter(position, field)
  local found = redis.call('HGET', KEYS[position], field) or '0'
  local number = string.match(found, NUMBER) and tonumber(found)
  return number and number <= LARGEST and number
end

if plan.replay then
  if not fits(plan.replay.key, 'hash') then return damaged(plan.replay.key) end
  local seen = redis.call('HMGET', KEYS[plan.replay.key], 'body', 'answer', 'base')
  if seen[1] then return {'REPLAYED', now, seen[1], seen[2], seen[3]} end
end

for position, condition in ipairs(plan.conditions) do
  local kind, key = condition[1], KEYS[condition[2]]
  local holds
  if not fits(condition[2], kind == 'count' and COUNTED[condition[3]] or 'hash') then return damaged(condition[2]) end
  if kind == 'same' then
    local value = redis.call('HGET', key, condition[3])
    local expected = condition[4]
    holds = value == expected
  elseif kind == 'recent' then
    local value = tonumber(redis.call('HGET', key, condition[3]) or nil)
    holds = value and now - value <= condition[4]
  elseif kind == 'below' then
    local value = counter(condition[2], condition[3])
    if not value then return damaged(condition[2]) end
    holds = value < condition[4]
  elseif kind == 'present' then
    holds = redis.call('HEXISTS', key, condition[3]) == 1
  elseif kind == 'count' then
    holds = redis.call(condition[3], key) == condition[4]
  end
  if not holds then return {'CONFLICT', now, position} end
end

for _, write in ipairs(plan.writes) do
  local command, position = write[1], write[2]
  if not TYPES[command] or #write > ARGUMENTS then return redis.error_reply('ERR the plan has a wrong ' .. command) end
  if not fits(position, TYPES[command]) then return damaged(position) end
  if command == 'HINCRBY' and types[position] == 'hash' then
    local found = redis.call('HGET', KEYS[position], write[3]) or '0'
    local number = (found == '0' or string.match(found, '^%-?[1-9]%d*$')) and tonumber(found)
    if not number or math.abs(number) > LARGEST then return damaged(position) end
  elseif command == 'DEL' or command == 'UNLINK' then
    types[position] = 'none'
  elseif command == 'SET' then
    types[position] = 'string'
  elseif GROWS[command] then
    types[position] = TYPES[command]
  end
end

-- So are the counters, and the newest entry of the feed.
local first, base = 0, 0
if #plan.feed > 0 or plan.allocate > 0 then
  if not fits(plan.meta, 'hash') then return damaged(plan.meta) end
  first, base = counter(plan.meta, 'f'), counter(plan.meta, 'n')
  if not first or not base then return damaged(plan.meta) end
end
if #plan.feed > 0 then
  if not fits(plan.stream, 'stream') then return damaged(plan.stream) end
  local last = types[plan.stream] == 'stream' and redis.call('XREVRANGE', KEYS[plan.stream], '+', '-', 'COUNT', 1)[1]
  -- An entry must come after the last one.
  if last and tonumber(string.match(last[1], '^%d+')) > first then return damaged(plan.stream) end
end
if #plan.feed > 0 then redis.call('HINCRBY', KEYS[plan.meta], 'f', #plan.feed) end
if plan.allocate > 0 then redis.call('HINCRBY', KEYS[plan.meta], 'n', plan.allocate) end

local function value(argument)
  if type(argument) ~= 'table' then return argument end
  if argument.n then return string.format('%.0f', base + argument.n) end
  if argument.numbers then
    local numbers = argument.known
    for _, index in ipairs(argument.numbers) do
      numbers = numbers .. (numbers == '' and '' or ',') .. string.format('%.0f', base + index)
    end
    return numbers
  end
  return string.format('%.0f', now)
end

for _, write in ipairs(plan.writes) do
  local arguments = {}
  for i = 3, #write do arguments[i - 2] = value(write[i]) end
  redis.call(write[1], KEYS[write[2]], unpack(arguments))
end

local head = false
if #plan.feed > 0 then
  for i, entry in ipairs(plan.feed) do
    head = string.format('%.0f', first + i) .. '-' .. plan.nonce
    redis.call('XADD', KEYS[plan.stream], 'MAXLEN', '~', plan.keep, head, 'op', entry[1], 'n', value(entry[2]))
  end
  redis.call('HSET', KEYS[plan.meta], 'head', head)
end

if plan.replay then
  local key = KEYS[plan.replay.key]
  redis.call('HSET', key, 'body', plan.replay.body, 'answer', plan.replay.answer, 'base', string.format('%.0f', base))
  redis.call('PEXPIRE', key, plan.replay.ttl)
end
return {'APPLIED', now, base, head}
