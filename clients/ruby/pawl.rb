# frozen_string_literal: true

# SPDX-License-Identifier: Apache-2.0
#
# pawl - add jobs to a pawl daemon and work on them. One file, standard library only.
#
#   require "pawl"
#
#   client = Pawl::Client.new("http://127.0.0.1:7420")    # or https://HOST, unix:PATH
#   id = client.add("mail", { to: "ann" })                # text, or any JSON value
#   puts client.wait(id)["result"]
#
#   mail = ->(job) { job.progress(50, "half"); "sent to #{job.json["to"]}" }
#   Pawl::Worker.new(client, { "mail" => mail }, concurrency: 4).run    # until SIGTERM
#
# An add is sent with a key of its own, so that it can be sent again after a lost answer
# without adding twice. Client.new("fake:") keeps jobs in memory, Client.new("inline:") also
# runs them at once: for the tests of your application.
require "json"
require "openssl"
require "securerandom"
require "socket"
require "timeout"
require "uri"

module Pawl
  VERSION = "0.2.0"
  FINAL = %w[done failed rejected cancelled].freeze
  AGAIN = [429, 502, 503, 504].freeze # refused for now: nothing was done
  PAUSE_MAX = 5                       # seconds between two tries when the daemon names none

  # The daemon refused. `code` is a stable word such as `job_not_found`; `status` is that of
  # HTTP, 0 if nobody answered. Of add_many: `ids` has nil where a job was refused, and
  # `errors` has [index, problem].
  class Error < StandardError
    attr_reader :code, :detail, :status, :hint, :ids, :errors

    def initialize(code, detail, status = 0, hint: nil, ids: [], errors: [])
      super("#{detail} [#{code}]#{": #{hint}" if hint}")
      @code, @detail, @status, @hint, @ids, @errors = code, detail, status, hint, ids, errors
    end

    # Whether the same request may be sent again.
    def again?
      AGAIN.include?(status) || code == "idempotency_in_progress"
    end
  end

  # No answer. `sent` says that the request may have been carried out; `kept`, that it went over
  # a connection that had been kept open, which the daemon may have hung up meanwhile.
  class Unreachable < Error
    attr_reader :sent, :kept

    def initialize(detail, sent, kept = false)
      super("daemon_unreachable", detail)
      @sent, @kept = sent, kept
    end

    def again?
      true
    end
  end

  # What a handler raises to end its job other than by a result or an error.
  class Outcome < StandardError
    attr_reader :after
  end

  # Try the job again after its usual delay; counts as a try.
  class Retry < Outcome
    def exitcode = 175
  end

  # Never try the job again.
  class Fail < Outcome
    def exitcode = 400
  end

  # Not now: try again in `seconds`. Where the daemon knows `again_in` it costs no try and the
  # time is kept; otherwise this is a Retry.
  class Snooze < Retry
    def initialize(seconds, why = "snoozed")
      super(why)
      @after = seconds
    end
  end

  # Text and bytes, which Ruby has in one class: what is no UTF-8 travels as base64.
  module Values
    module_function

    def text?(string)
      string.encoding != Encoding::BINARY ? string.valid_encoding? : string.dup.force_encoding("UTF-8").valid_encoding?
    end

    # Text as it is, bytes as base64, any other value as it is or (json) as JSON text.
    def put(fields, name, value, json: true)
      if value.is_a?(String) && !text?(value)
        fields["#{name}_base64"] = [value].pack("m0")
      elsif value.is_a?(String)
        fields[name] = value.dup.force_encoding("UTF-8")
      elsif !value.nil?
        fields[name] = json ? JSON.generate(value) : value
      end
      fields
    end

    def new_job(type, payload, fields)
      put({ "type" => type.to_s, **fields.transform_keys(&:to_s) }, "payload", payload)
    end

    def payload(fields)
      coded = fields["payload_base64"]
      coded ? coded.unpack1("m0") : fields["payload"]
    end

    # UTF-8 if it is that, else binary.
    def text_or_bytes(data)
      text = data.dup.force_encoding("UTF-8")
      text.valid_encoding? ? text : data.b
    end
  end

  # One connection: plain HTTP/1.1 over TCP, TLS or a Unix socket.
  class Connection
    def initialize(url, timeout, tls)
      @timeout = timeout
      @host, @io = "localhost", nil
      if url.start_with?("unix:")
        @open = -> { UNIXSocket.new(url[5..]) }
        return
      end
      parts = URI.parse(url)
      raise ArgumentError, "not http://, https://, unix:PATH, fake: or inline: #{url}" unless parts.is_a?(URI::HTTP)

      @host = "#{parts.host}:#{parts.port}"
      @open = lambda do
        socket = Socket.tcp(parts.hostname, parts.port, connect_timeout: timeout)
        socket.setsockopt(Socket::IPPROTO_TCP, Socket::TCP_NODELAY, 1)
        parts.scheme == "https" ? secure(socket, parts.hostname, tls) : socket
      end
    end

    def secure(socket, host, context)
      context ||= OpenSSL::SSL::SSLContext.new.tap(&:set_params)
      made = OpenSSL::SSL::SSLSocket.new(socket, context)
      made.hostname = host
      made.sync_close = true
      made.connect
      made.post_connection_check(host)
      made
    end

    # [status, headers, body]; Unreachable if there is none.
    def call(method, path, headers, body)
      sent = false
      kept = !@io.nil?
      Timeout.timeout(@timeout) do
        @io ||= @open.call
        sent = true
        head = +"#{method} #{path} HTTP/1.1\r\nHost: #{@host}\r\n"
        headers.each { |name, value| head << "#{name}: #{value}\r\n" }
        head << "Content-Length: #{body.bytesize}\r\n" if body
        @io.write("#{head}\r\n".b + (body || "").b)
        @io.flush
        answer
      end
    rescue SystemCallError, IOError, SocketError, OpenSSL::SSL::SSLError, Timeout::Error => e
      close
      raise Unreachable.new("no answer: #{e.message}", sent, kept)
    end

    def close
      @io&.close
    rescue SystemCallError, IOError, OpenSSL::SSL::SSLError
      nil # it was broken
    ensure
      @io = nil
    end

    private

    def line
      @io.gets("\r\n")&.chomp("\r\n") or raise EOFError, "the daemon hung up"
    end

    def exactly(bytes)
      data = bytes.zero? ? "".b : @io.read(bytes)
      raise EOFError, "the answer ended early" if data.nil? || data.bytesize < bytes

      data
    end

    def answer
      status = Integer(line.split[1], 10)
      headers = {}
      while (text = line) != ""
        name, value = text.split(":", 2)
        headers[name.downcase] = value.to_s.strip
      end
      return answer if status == 100

      body = status == 204 ? "".b : read_body(headers)
      close if headers["connection"] == "close"
      [status, headers, body]
    end

    def read_body(headers)
      return exactly(Integer(headers["content-length"], 10)) if headers["content-length"]
      return @io.read unless headers["transfer-encoding"] == "chunked"

      body = +"".b
      while (size = line.to_i(16)).positive?
        body << exactly(size)
        line
      end
      line
      body
    end
  end

  # Adds jobs and asks for them. May be shared by threads.
  #
  # url: http://HOST:PORT, https://HOST, unix:PATH, fake: or inline: (default: $PAWL_SERVER,
  # else http://127.0.0.1:7420); token: $PAWL_TOKEN unless given; tenant; timeout: seconds for
  # one answer; retry_for: seconds during which a request that got no answer, or a 429 or 503,
  # is sent again; keyless: true: where the daemon cannot take keys, because it is cut off
  # from its store, add without one (a lost answer is then an error, not tried again); tls: an
  # OpenSSL::SSL::SSLContext of your own.
  class Client
    attr_reader :url, :tenant, :fake

    def initialize(url = nil, token = nil, tenant: nil, timeout: 60, retry_for: 30, keyless: false,
                   tls: nil)
      @url = url || ENV.fetch("PAWL_SERVER", "http://127.0.0.1:7420")
      @token = token || ENV["PAWL_TOKEN"]
      @tenant, @timeout, @retry_for, @keyless, @tls = tenant, timeout, retry_for, keyless, tls
      @fake = Fake.new(@url) if %w[fake: inline:].include?(@url)
      @idle = Queue.new # connections that nobody uses now
      connection unless @fake # an address that is none is told at once
    end

    # Of a fake: the jobs so far.
    def jobs = @fake&.jobs

    # Closes connections that are kept open.
    def close
      @idle.pop(true).close until @idle.empty?
    end

    # Adds a job; returns its id. fields: queue:, priority:, delay:, max_retries:, …
    def add(type, payload = nil, idempotency_key: nil, **fields)
      return @fake.add(type, payload, idempotency_key, fields) if @fake

      JSON.parse(send_jobs(Values.new_job(type, payload, fields), idempotency_key))["id"]
    end

    # Adds many jobs in one request: hashes with :type, :payload and further fields. Returns
    # their ids in order. If some were refused, raises Error with `ids` and `errors`; the
    # others are added.
    def add_many(jobs, idempotency_key: nil)
      jobs = jobs.map { |job| job.transform_keys(&:to_s) }
      return jobs.map { |job| @fake.add(job["type"], job["payload"], nil, job) } if @fake
      return [] if jobs.empty?

      made = jobs.map { |job| Values.new_job(job["type"], job["payload"], job.except("payload")) }
      told = send_jobs(made, idempotency_key).each_line.map { |text| JSON.parse(text) }
                                             .select { |line| line.key?("line") }
      raise Unreachable.new("the answer is not whole", true) if told.size != made.size

      ids = told.map { |line| line["id"] }
      errors = told.select { |line| line["error"] }.map { |line| [line["line"] - 1, line["error"]] }
      return ids if errors.empty?

      first = errors[0][1]
      raise Error.new(first["code"], "#{errors.size} of #{ids.size} jobs were refused: #{first["detail"]}",
                      422, ids: ids, errors: errors)
    end

    # The job: a hash with the fields of the reference, and `payload` as it was sent.
    def get(id)
      return @fake.get(id) if @fake

      job = JSON.parse(call("GET", "/jobs/#{id}")[1])
      job.merge("payload" => Values.payload(job))
    end

    # The result of a job, binary if it is no UTF-8; nil if there is none.
    def result(id)
      return @fake.get(id)["result"] if @fake

      Values.text_or_bytes(call("GET", "/jobs/#{id}/result")[1])
    rescue Error => e
      raise unless e.code == "result_not_found"
    end

    # Waits until the job is final; returns it with its `result`. Raises Error `timeout` when
    # the seconds are over.
    def wait(id, timeout = nil)
      till = Pawl.now + (timeout || Float::INFINITY)
      pause = 0.02
      loop do
        job = get(id)
        if FINAL.include?(job["state"])
          job["result"] = result(id) if job["result_size"]&.positive?
          return job
        end
        left = till - Pawl.now
        raise Error.new("timeout", "job #{id} is still #{job["state"]}") if left <= 0 || @fake

        sleep([pause, left].min)
        pause = [pause * 1.5, 1].min
      end
    end

    # Asks for the job's end; returns the job. One that is cancelled already stays so.
    def cancel(id, reason = nil)
      return @fake.cancel(id) if @fake

      JSON.parse(call("POST", "/jobs/#{id}/cancel", body: reason ? { reason: reason } : {})[1])
    rescue Error => e
      raise unless e.code == "invalid_state"

      job = get(id)
      raise e unless job["state"] == "cancelled" || job["cancelling"]

      job
    end

    # What the worker asks for.

    def claim(what)
      status, data = call("POST", "/claims", body: what, retry_for: 0)
      status == 200 ? JSON.parse(data)["jobs"] : []
    end

    def tell(what, items, retry_for: @retry_for)
      _, data = call("POST", "/claims/#{what}", body: { items: items }, retry_for: retry_for)
      JSON.parse(data)["items"].map { |item| item["status"] }
    end

    private

    def connection
      @idle.pop(true)
    rescue ThreadError
      Connection.new(@url, @timeout, @tls)
    end

    def send_jobs(body, key)
      begin
        return call("POST", "/jobs", body: body, key: key || SecureRandom.uuid,
                                     but: @keyless ? "store_unavailable" : nil)[1]
      rescue Error => e
        raise unless @keyless && e.code == "store_unavailable"
      end
      call("POST", "/jobs", body: body, repeat: false)[1]
    end

    def once(method, path, headers, text)
      conn = connection
      answer = conn.call(method, path, headers, text)
      @idle << conn
      answer
    end

    # [status, body]. repeat: it may be sent again although it may have been done. but: a code
    # with which it is not sent again, unless it may have been done.
    def call(method, path, body: nil, key: nil, repeat: true, retry_for: @retry_for, but: nil)
      path = "/api/v1#{path}#{"?tenant=#{URI.encode_www_form_component(@tenant)}" if @tenant}"
      headers = { "User-Agent" => "pawl-ruby/#{VERSION}" }
      headers["Authorization"] = "Bearer #{@token}" if @token
      headers["Content-Type"] = "application/json" if body
      headers["Prefer"] = "return=minimal" if path.match?(%r{\A/api/v1/jobs(\?|\z)}) # only its id
      headers["Idempotency-Key"] = key if key
      text = body && JSON.generate(body)
      till = Pawl.now + retry_for
      pause, done = 0.05, false
      loop do
        close unless repeat # so that a connection that was hung up is not taken for a loss
        begin
          status, answered, data = once(method, path, headers, text)
          return [status, data] if status < 400

          error, wait = refusal(status, data), answered["retry-after"]
        rescue Unreachable => e
          raise if e.sent && !repeat

          error, wait, done = e, nil, done || e.sent
          next if e.kept # a new connection is tried at once
        end
        raise error if !error.again? || (error.code == but && !done)

        wait = wait&.match?(/\A\d+\z/) ? wait.to_i : pause * rand(0.5..1.0)
        raise error if Pawl.now + wait > till

        sleep(wait)
        pause = [pause * 2, PAUSE_MAX].min
      end
    end

    def refusal(status, data)
      problem = begin
        JSON.parse(data)
      rescue JSON::ParserError
        {}
      end
      problem = {} unless problem.is_a?(Hash)
      Error.new(problem["code"] || "http_#{status}",
                problem["detail"] || problem["title"] || "status #{status}", status, hint: problem["hint"])
    end
  end

  def self.now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

  # Jobs in memory: `fake:` keeps them until a Worker runs, `inline:` runs them in add.
  class Fake
    attr_reader :jobs
    attr_accessor :handlers

    def initialize(url)
      @url, @jobs, @handlers = url, [], {}
    end

    def add(type, payload, key, fields)
      known = key && @jobs.find { |job| job["key"] == key }
      return known["id"] if known

      job = fields.transform_keys(&:to_s).merge(
        "id" => format("%013d", @jobs.size + 1), "type" => type.to_s, "key" => key,
        "payload" => Values.payload(Values.new_job(type, payload, {})), "state" => "ready",
        "attempt" => 0, "error" => nil, "result" => nil, "cancelling" => false
      )
      @jobs << job
      run_one(job) if @url == "inline:"
      job["id"]
    end

    def run_one(job)
      handler = @handlers[job["type"]] or
        raise Error.new("handler_not_found", "no handler for #{job["type"]}")
      job["attempt"] += 1
      done = Pawl.perform(handler, Job.new(job, nil))
      job["state"] = { 1 => "retrying", 2 => "done", 4 => "failed" }
                     .fetch(done["exitcode"] / 100, "rejected")
      job["error"] = done["error"]
      job["result"] = if done["result_base64"] then done["result_base64"].unpack1("m0")
                      elsif done["result"].nil? || done["result"].is_a?(String) then done["result"]
                      else JSON.generate(done["result"])
                      end
      (done["jobs"] || []).each { |child| add(child["type"], Values.payload(child), nil, {}) }
    end

    # Runs what waits, and what that adds.
    def run_all
      @jobs.each { |job| run_one(job) if job["state"] == "ready" } # grows meanwhile
      nil
    end

    def find(id)
      @jobs.find { |job| job["id"] == id } or
        raise Error.new("job_not_found", "There is no such job: '#{id}'", 404)
    end

    def get(id) = find(id).dup

    def cancel(id)
      job = find(id)
      job["state"] = "cancelled" unless FINAL.include?(job["state"])
      job.dup
    end
  end

  # A job in hand. `payload` is a string, binary if it is no UTF-8; `json` is its value;
  # `fields` has the rest.
  class Job
    attr_reader :id, :type, :attempt, :payload, :fields, :children
    attr_accessor :cancelled # someone asked for its end, or it is not ours any more: stop
    alias cancelled? cancelled

    def initialize(fields, worker)
      @fields, @worker, @cancelled, @children, @told = fields, worker, false, [], {}
      @id, @type, @attempt = fields.values_at("id", "type", "attempt")
      @payload = Values.payload(fields)
    end

    def json = JSON.parse(payload)

    # Tells how far the job is: with the next heartbeat, which comes at once.
    def progress(percent, message = nil)
      @told = { "progress" => percent.to_i, "message" => message }.compact
      @worker&.beat
    end

    # Adds a job together with the end of this one, if that is no retry.
    def add(type, payload = nil, **fields)
      @children << Values.new_job(type, payload, fields)
    end

    def item(more = {})
      { "id" => @id, "attempt" => @attempt, "token" => @fields["token"], **@told, **more }
    end
  end

  # The fields of a finish that tell what became of the job.
  def self.perform(handler, job)
    value = handler.call(job)
    done = Values.put({ "exitcode" => 200 }, "result", value, json: false)
    done["jobs"] = job.children unless job.children.empty?
    done
  rescue Outcome => e
    { "exitcode" => e.exitcode, "error" => e.message, "again_in" => e.after && "PT#{e.after}S" }.compact
  rescue StandardError, NotImplementedError => e
    { "exitcode" => 500, "error" => "#{e.class}: #{e.message}".scrub }
  end

  # Takes jobs and does them with threads until it is stopped.
  #
  # handlers: type => anything with call(job). What it returns is the result (nil, a string, or
  # a JSON value). Retry, Fail, Snooze end the job so; any other StandardError is an error,
  # tried again as the job says. concurrency: jobs at a time; queues: only these; lease:
  # seconds after which a worker that is not heard from has lost its jobs, renewed three times
  # in that time; poll: seconds that one question for work waits (a stop takes at most as
  # long); log: a callable for what goes wrong.
  class Worker
    def initialize(client, handlers, at_once = nil, concurrency: 1, queues: nil, lease: 30, poll: 2,
                   name: nil, log: ->(text) { warn("pawl: #{text}") })
      @client, @handlers, @concurrency = client, handlers.transform_keys(&:to_s), at_once || concurrency
      @lease, @poll, @log, @again_in, @stopping = lease, poll, log, true, false
      @what = { "types" => @handlers.keys, "lease" => "PT#{lease}S", "queues" => queues,
                "worker" => name || "#{Socket.gethostname}:#{Process.pid}" }.compact
      @jobs, @lock, @freed, @beats = [], Mutex.new, ConditionVariable.new, Queue.new
      client.fake.handlers = @handlers if client.fake
    end

    # Takes no more jobs. run returns when those in hand are done.
    def stop
      @stopping = true
    end

    # A heartbeat now.
    def beat
      @beats << :now if @beats.empty?
    end

    # Works until stop, SIGTERM or SIGINT. Of a fake client: until nothing waits.
    def run(signals: true)
      return @client.fake.run_all if @client.fake

      with_signals(signals) do
        beats = Thread.new { heartbeat }
        begin
          take until @stopping
        ensure
          @lock.synchronize { @freed.wait(@lock, 1) until @jobs.empty? }
          beats.kill
        end
      end
      nil
    end

    private

    # A second signal does what it did before.
    def with_signals(wanted)
      before = {}
      %w[TERM INT].each do |name|
        break unless wanted

        before[name] = trap(name) do
          @stopping = true
          before.each { |known, old| trap(known, old || "DEFAULT") }
        end
      end
      yield
    ensure
      before.each { |name, old| trap(name, old || "DEFAULT") }
    end

    def take
      free = @lock.synchronize do
        @freed.wait(@lock, 0.2) if @jobs.size >= @concurrency
        @concurrency - @jobs.size
      end
      return unless free.positive?

      till = Pawl.now + @poll
      found = @client.claim(@what.merge("max" => free, "wait" => "PT#{@poll}S"))
      # A daemon that does not let us wait is not asked all the time.
      sleep([0, till - Pawl.now].max) if found.empty?
      found.each do |fields|
        job = Job.new(fields, self)
        @lock.synchronize { @jobs << job }
        Thread.new { work(job) }
      end
    rescue Error => e
      raise unless e.again?

      @log.call("#{e.message}; asking again")
      sleep(rand(0.1..0.5))
    end

    def work(job)
      done = { "exitcode" => 500, "error" => "the thread of the handler was ended" }
      done = Pawl.perform(@handlers[job.type], job)
    ensure
      begin
        finish(job, done)
      rescue Error => e
        @log.call("the result of #{job.id} is lost: #{e.message}")
      ensure
        @lock.synchronize do
          @jobs.delete(job)
          @freed.signal
        end
      end
    end

    # Tells the result until a daemon has heard it, or the lease must be over.
    def finish(job, done)
      done = done.except("again_in") unless @again_in
      @client.tell("finish", [job.item(done)], retry_for: [@lease, 600].max)
    rescue Error => e
      if e.code == "unknown_field" && done["again_in"]
        @again_in = false # a daemon before 0.2
        return finish(job, done)
      end
      raise unless [400, 413, 422].include?(e.status)

      # It cannot take such a result, and never will.
      @client.tell("finish", [job.item("exitcode" => 500, "error" => e.message)])
    end

    def heartbeat
      loop do
        next_beat
        jobs = @lock.synchronize { @jobs.reject(&:cancelled?) }
        next if jobs.empty?

        begin
          words = @client.tell("renew", jobs.map(&:item), retry_for: 0)
          jobs.zip(words) { |job, word| job.cancelled = true if word != "ok" }
        rescue Error => e
          @log.call("cannot renew: #{e.message}")
        end
        sleep(0.05) # progress that comes all the time is told at most so often
      end
    end

    def next_beat
      Timeout.timeout(@lease / 3.0) { @beats.pop }
    rescue Timeout::Error
      nil
    end
  end
end
