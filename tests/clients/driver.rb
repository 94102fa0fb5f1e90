# frozen_string_literal: true

# SPDX-License-Identifier: Apache-2.0
# driver - the Ruby client, driven by scenarios.py: see there for what it is asked.
require_relative "../../clients/ruby/pawl"

HANDLERS = {
  "upper" => ->(job) { job.payload.upcase },
  "echo" => ->(job) { job.payload },
  "number" => ->(job) { { n: job.json["n"] + 1 } },
  "wait" => lambda do |job|
    job.progress(10, "waiting")
    sleep(0.02) until File.exist?(job.payload)
    "waited"
  end,
  "stoppable" => lambda do |job|
    job.progress(10, "until told")
    sleep(0.02) until job.cancelled?
    File.write(job.payload, "")
    nil
  end,
  "fail" => ->(_) { raise Pawl::Fail, "no such thing" },
  "retry" => ->(job) { job.attempt == 1 ? raise(Pawl::Retry, "not yet") : "second" },
  "snooze" => ->(job) { job.attempt == 1 ? raise(Pawl::Snooze.new(0.1, "later")) : "woke" },
  "crash" => ->(_) { raise ArgumentError, "broken" },
  "child" => lambda do |job|
    job.add("echo", "of #{job.id}", priority: 7)
    nil
  end
}.freeze

def payload_of(ask)
  return ask["base64"].unpack1("m0") if ask["base64"]

  ask.fetch("json") { ask["text"] }
end

def value_of(value)
  return nil if value.nil?

  value.encoding == Encoding::BINARY ? { base64: [value].pack("m0") } : { text: value }
end

def shown(job)
  job.slice("id", "state", "error", "attempt")
     .merge(payload: value_of(job["payload"]), result: value_of(job["result"]))
end

def answer(ask)
  case ask["do"]
  when "open"
    @client = Pawl::Client.new(ask["url"], ask["token"], tenant: ask["tenant"],
                               retry_for: ask["retry_for"] || 30, keyless: ask["keyless"])
    @worker = Pawl::Worker.new(@client, HANDLERS)
    nil
  when "add"
    @client.add(ask["type"], payload_of(ask), idempotency_key: ask["key"],
                                              **(ask["fields"] || {}).transform_keys(&:to_sym))
  when "add_many"
    @client.add_many(ask["jobs"].map do |job|
      { type: job["type"], payload: payload_of(job), **(job["fields"] || {}).transform_keys(&:to_sym) }
    end)
  when "get" then shown(@client.get(ask["id"]))
  when "wait" then shown(@client.wait(ask["id"], ask["timeout"]))
  when "cancel" then @client.cancel(ask["id"])["state"]
  when "run" then @worker.run
  end
end

if ARGV[0] == "client"
  $stdin.each_line do |line|
    said = begin
      { ok: answer(JSON.parse(line)) }
    rescue Pawl::Error => e
      { error: { code: e.code, status: e.status, ids: e.ids } }
    end
    puts JSON.generate(said)
    $stdout.flush
  end
else
  ask = JSON.parse(ARGV[1])
  Pawl::Worker.new(Pawl::Client.new(ask["url"], tenant: ask["tenant"]), HANDLERS,
                   concurrency: ask["concurrency"], lease: ask["lease"], poll: 0.5).run
end
