-- Applies one change to one partition, or nothing at all. KEYS: every key that the plan names. ARGV[1]: the plan in
-- MessagePack (see store/change.py, which is the only writer of plans). Rules live in Python; this script only compares
-- what was read with what is there, allocates sequence numbers and writes.
local plan = cmsgpack.unpack(ARGV[1])
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

if plan.replay then
  local seen = redis.call('HMGET', KEYS[plan.replay.key], 'body', 'answer', 'base')
  if seen[1] then return {'REPLAYED', now, seen[1], seen[2], seen[3]} end
end

for position, condition in ipairs(plan.conditions) do
  local kind, key = condition[1], KEYS[condition[2]]
  local holds
  if kind == 'same' then
    local value = redis.call('HGET', key, condition[3])
    local expected = condition[4]
    holds = value == expected
  elseif kind == 'recent' then
    local value = redis.call('HGET', key, condition[3])
    holds = value and now - tonumber(value) <= condition[4]
  elseif kind == 'below' then
    holds = tonumber(redis.call('HGET', key, condition[3]) or '0') < condition[4]
  elseif kind == 'present' then
    holds = redis.call('HEXISTS', key, condition[3]) == 1
  elseif kind == 'count' then
    holds = redis.call(condition[3], key) == condition[4]
  end
  if not holds then return {'CONFLICT', now, position} end
end

-- Both counters before the first write: what cannot be counted must fail before anything is changed.
local first = 0
if #plan.feed > 0 then
  first = redis.call('HINCRBY', KEYS[plan.meta], 'f', #plan.feed) - #plan.feed
end
local base = 0
if plan.allocate > 0 then
  base = redis.call('HINCRBY', KEYS[plan.meta], 'n', plan.allocate) - plan.allocate
end

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
