# SPDX-License-Identifier: Apache-2.0
# The Ruby side of a warm context: docs/reference/contexts.md says what it speaks.
require 'json'

module PawlContext
  # Jobs are read from a copy: bodies and what they start see an empty standard input.
  JOBS = STDIN.dup
  STDIN.reopen(File::NULL)
  JOBS.binmode
  REPLY = IO.for_fd(Integer(ENV.fetch('PAWL_REPLY_FD')), 'wb', autoclose: false)
  REPLY.sync = true
  REPLY.close_on_exec = true
  STDOUT.sync = true

  class Outcome < Exception
    attr_reader :code

    def initialize(code, message)
      super(message.to_s)
      @code = code
    end
  end

  # What a body can ask for.
  class Pawl
    attr_accessor :current

    def retry(message = '') = raise(Outcome.new(100, message))
    def fail(message = '') = raise(Outcome.new(400, message))

    def add(type, payload = '')
      unless type.to_s.match?(/\A[A-Za-z0-9_][A-Za-z0-9_.:-]{0,127}\z/)
        raise ArgumentError, "pawl.add: #{type.inspect} is not the name of a type"
      end
      PawlContext.say("J: #{current} #{type}|", PawlContext.to_bytes(payload))
    end

    def progress(percent, message = '')
      REPLY.write("P: #{current} #{percent.to_i} #{message.to_s.tr("\n", ' ')}\n".b)
    end
  end

  Handler = Struct.new(:parts, :run)

  class << self
    def to_bytes(value)
      return ''.b if value.nil?
      (value.is_a?(String) ? value : JSON.generate(value)).b
    end

    # One line, or its head and a count where the text does not fit into a line.
    def say(head, text)
      counted = text.include?("\n".b) || text.start_with?('<<')
      REPLY.write(counted ? "#{head}<<#{text.bytesize}\n".b + text : head.b + text + "\n".b)
    end

    def script(handler, part)
      code = handler.parts[part]
      eval(code, TOPLEVEL_BINDING, "#{handler.parts['name']} #{part}", 1) if code
    end

    # Once in a context; again with the next batch if it failed.
    def prepare(handler)
      return if handler.run
      script(handler, 'before')
      code = "lambda do |payload, job, pawl| #{handler.parts['body']}\nend"
      handler.run = eval(code, TOPLEVEL_BINDING, handler.parts['name'], 1)
    end

    # One line for the job; the whole story goes to its log.
    def complaint(error, where = '')
      STDERR.puts(error.full_message(highlight: false))
      place = (error.backtrace || []).find { |at| !at.start_with?('-e') }
      line = place && place[/:(\d+)/, 1]
      text = "#{where}#{error.class}: #{error.message.lines.first.to_s.chomp}"
      (line ? "#{text} (line #{line})" : text).b
    end

    def begin_batch(handler)
      prepare(handler)
      script(handler, 'beforeEach')
      ''
    rescue Exception => e
      complaint(e, 'before the job: ')
    end

    def end_batch(handler)
      script(handler, 'afterEach')
    rescue Exception => e
      complaint(e)
    end

    def answer(handler, job, trouble)
      return [500, trouble] unless trouble.empty?
      payload = job['payload'] || job['payload_base64'].to_s.unpack1('m')
      [200, to_bytes(handler.run.call(payload, job, PAWL))]
    rescue Outcome => e
      [e.code, to_bytes(e.message)]
    rescue Exception => e
      [500, complaint(e)]
    end

    def serve
      handlers = {}
      batch = nil
      trouble = ''
      seen = [0, 0]
      while (line = JOBS.gets)
        job = JSON.parse(line)
        if job['handler'].is_a?(Hash)
          handlers[job['handler']['name']] = Handler.new(job['handler'])
          next
        end
        id, last = job['id'], job['last'] # the body may do with its job what it likes
        PAWL.current = id
        unless batch
          batch = handlers[job['handler']]
          trouble = begin_batch(batch)
        end
        code, text = answer(batch, job, trouble)
        if last
          end_batch(batch)
          batch = nil
        end
        printed = [STDOUT.stat.size, STDERR.stat.size]
        if printed != seen
          seen = printed
          REPLY.write("O: #{id} #{printed[0]} #{printed[1]}\n")
        end
        say("R: #{id} #{code} ", text)
      end
      end_batch(batch) if batch
    end
  end
  PAWL = Pawl.new
end

def pawl = PawlContext::PAWL
PawlContext.serve
