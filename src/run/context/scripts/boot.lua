-- SPDX-License-Identifier: Apache-2.0
-- The Lua side of a warm context: docs/reference/contexts.md says what it speaks.
local reply = assert(io.open("/proc/self/fd/" .. os.getenv("PAWL_REPLY_FD"), "w"))
reply:setvbuf("no")
local handlers = {}
local current = ""
local null = {}

-- JSON: enough to read what pawl writes, and to write what a body returns.

local plain = { b = "\b", f = "\f", n = "\n", r = "\r", t = "\t" }

local function unescape(text)
    text = text:gsub("\\u([dD][89abAB]%x%x)\\u([dD][c-fC-F]%x%x)", function(high, low)
        local h, l = tonumber(high, 16) - 0xd800, tonumber(low, 16) - 0xdc00
        return utf8.char(0x10000 + (h << 10) + l)
    end)
    return (text:gsub("\\(u?)(.)(%x?%x?%x?)", function(u, c, rest)
        if u == "u" then return utf8.char(tonumber(c .. rest, 16)) end
        return (plain[c] or c) .. rest
    end))
end

local decode

local function decode_text(text, at)
    local from = at + 1
    local to = from
    while true do
        to = text:find('["\\]', to)
        if text:byte(to) == 34 then break end
        to = to + 2
    end
    local part = text:sub(from, to - 1)
    if part:find("\\", 1, true) then part = unescape(part) end
    return part, to + 1
end

local function decode_members(text, at, closing, each)
    at = text:find("%S", at)
    while text:sub(at, at) ~= closing do
        at = each(at)
        at = text:find("%S", at)
        if text:sub(at, at) == "," then at = text:find("%S", at + 1) end
    end
    return at + 1
end

function decode(text, at)
    at = text:find("%S", at)
    local c = text:sub(at, at)
    if c == '"' then return decode_text(text, at) end
    if c == "{" or c == "[" then
        local made = {}
        local after = decode_members(text, at + 1, c == "{" and "}" or "]", function(from)
            local key, value = #made + 1, nil
            if c == "{" then
                key, from = decode_text(text, from)
                from = text:find(":", from, true) + 1
            end
            value, from = decode(text, from)
            if value ~= null then made[key] = value end
            return from
        end)
        return made, after
    end
    if text:sub(at, at + 3) == "true" then return true, at + 4 end
    if text:sub(at, at + 4) == "false" then return false, at + 5 end
    if text:sub(at, at + 3) == "null" then return null, at + 4 end
    local _, to = text:find("^-?[%d.eE+-]+", at)
    return tonumber(text:sub(at, to)), to + 1
end

-- A job as most are, texts without escapes and whole numbers, quickly.
local function decode_job(line)
    local find, byte, job, at = string.find, string.byte, {}, 2
    while true do
        local _, to, key, value = find(line, '^"([%w_]+)":"([^"\\]*)"', at)
        if not to then
            _, to, key, value = find(line, '^"([%w_]+)":(-?%d+)', at)
            value = tonumber(value)
        end
        if not to then
            _, to = find(line, '^"last":true', at)
            key, value = "last", true
        end
        local after = to and byte(line, to + 1)
        if after == 44 then -- a comma
            at = to + 2
        elseif after ~= 125 or to + 1 ~= #line then
            return (decode(line, 1))
        end
        job[key] = value
        if after == 125 then return job end
    end
end

local function quoted(text)
    return '"' .. text:gsub('[%c"\\]', function(c)
        return c:find('["\\]') and "\\" .. c or string.format("\\u%04x", c:byte())
    end) .. '"'
end

local function encode(value)
    if type(value) == "table" then
        local items, names = {}, {}
        if #value > 0 then
            for i, item in ipairs(value) do items[i] = encode(item) end
            return "[" .. table.concat(items, ",") .. "]"
        end
        for name in pairs(value) do names[#names + 1] = tostring(name) end
        table.sort(names)
        for i, name in ipairs(names) do
            items[i] = quoted(name) .. ":" .. encode(value[name])
        end
        return "{" .. table.concat(items, ",") .. "}"
    end
    if type(value) == "string" then return quoted(value) end
    return value == nil and "null" or tostring(value)
end

local function to_bytes(value)
    if value == nil then return "" end
    return type(value) == "string" and value or encode(value)
end

-- One line, or its head and a count where the text does not fit into a line.
local function say(head, text)
    if text:find("\n", 1, true) or text:sub(1, 2) == "<<" then
        reply:write(head, "<<", #text, "\n", text)
    else
        reply:write(head .. text .. "\n")
    end
end

-- What a body can ask for.
pawl = {
    retry = function(message) error({ code = 100, text = to_bytes(message) }, 0) end,
    fail = function(message) error({ code = 400, text = to_bytes(message) }, 0) end,
    add = function(kind, payload)
        kind = tostring(kind)
        if #kind > 128 or not kind:find("^[%w_][%w_.:-]*$") then
            error('pawl.add: "' .. kind .. '" is not the name of a type', 2)
        end
        say("J: " .. current .. " " .. kind .. "|", to_bytes(payload))
    end,
    progress = function(percent, message)
        local text = tostring(message or ""):gsub("\n", " ")
        reply:write(string.format("P: %s %d %s\n", current, math.floor(percent), text))
    end,
}

-- An error tells the handler's own line, not ours.
local function compiled(code, name)
    local made, problem = load(code, "=" .. name)
    return made or error(problem, 0)
end

local function script(handler, part)
    if handler[part] then compiled(handler[part], handler.name .. " " .. part)() end
end

-- Once in a context; again with the next batch if it failed.
local function prepare(handler)
    if handler.run then return end
    script(handler, "before")
    handler.run = compiled("local payload, job = ... " .. handler.body, handler.name)
end

-- One line for the job; the whole story goes to its log.
local function complaint(problem, where)
    local text = tostring(problem)
    io.stderr:write(text, "\n")
    return where .. text:match("[^\n]*")
end

local function begin_batch(handler)
    local fine, problem = xpcall(function()
        prepare(handler)
        script(handler, "beforeEach")
    end, debug.traceback)
    return fine and "" or complaint(problem, "before the job: ")
end

local function end_batch(handler)
    local fine, problem = xpcall(script, debug.traceback, handler, "afterEach")
    if not fine then complaint(problem, "") end
end

local function from_base64(text)
    local alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    local bits, kept, out = 0, 0, {}
    for c in text:gmatch("[%w+/]") do
        bits = (bits << 6 | alphabet:find(c, 1, true) - 1) & 0xffffff
        kept = kept + 6
        if kept >= 8 then
            kept = kept - 8
            out[#out + 1] = string.char(bits >> kept & 255)
        end
    end
    return table.concat(out)
end

local function story(problem)
    return type(problem) == "table" and problem or debug.traceback(tostring(problem), 2)
end

local function run(handler, job, trouble)
    if trouble ~= "" then return 500, trouble end
    local payload = job.payload or from_base64(job.payload_base64 or "")
    local fine, result = xpcall(handler.run, story, payload, job)
    if fine then return 200, to_bytes(result) end
    if type(result) == "table" and result.code then return result.code, result.text end
    return 500, complaint(type(result) == "table" and encode(result) or result, "")
end

local batch, trouble, seen_out, seen_err = nil, "", 0, 0
local stdout, stderr = io.stdout, io.stderr
for line in io.stdin:lines() do
    local job = decode_job(line)
    if type(job.handler) == "table" then
        handlers[job.handler.name] = job.handler
    else
        local id, last = job.id, job.last -- the body may do with its job what it likes
        current = id
        if not batch then
            batch = handlers[job.handler]
            trouble = begin_batch(batch)
        end
        local code, text = run(batch, job, trouble)
        if last then
            end_batch(batch)
            batch = nil
        end
        stdout:flush()
        local out, err = stdout:seek("end"), stderr:seek("end")
        if out ~= seen_out or err ~= seen_err then
            seen_out, seen_err = out, err
            reply:write("O: " .. id .. " " .. out .. " " .. err .. "\n")
        end
        say("R: " .. id .. " " .. code .. " ", text)
    end
end
if batch then end_batch(batch) end
