# frozen_string_literal: true

# SPDX-License-Identifier: Apache-2.0
# active_job - an application with Active Job: `add URL` adds jobs, `work URL` does them.
require_relative "../../../clients/ruby/pawl_active_job"

client = Pawl::Client.new(ARGV[1], tenant: ARGV[2])
ActiveJob::Base.logger = Logger.new(IO::NULL)
ActiveJob::Base.queue_adapter = ActiveJob::QueueAdapters::PawlAdapter.new(client)

# Writes what it was given into a file.
class LetterJob < ActiveJob::Base
  queue_as :mail

  def perform(path, words, at:)
    File.write(path, "#{words.join(" ")} #{at.year}")
  end
end

# Fails the first time, as Active Job's own retries have it.
class ShakyJob < ActiveJob::Base
  class Shaken < StandardError; end

  retry_on Shaken, wait: 0, attempts: 3

  def perform(path)
    raise Shaken if executions < 2

    File.write(path, "execution #{executions}")
  end
end

# Fails for good.
class BrokenJob < ActiveJob::Base
  def perform = raise("broken")
end

if ARGV[0] == "work"
  Pawl::ActiveJobWorker.new(client, concurrency: 2).run
else
  folder = ARGV[3]
  jobs = [
    LetterJob.perform_later("#{folder}/letter", %w[dear ann], at: Time.utc(2026)),
    LetterJob.set(wait: 0.2, priority: 9, queue: "slow").perform_later("#{folder}/later", %w[dear bob], at: Time.utc(2027)),
    ShakyJob.perform_later("#{folder}/shaky"),
    BrokenJob.perform_later
  ]
  puts JSON.generate(jobs.map(&:provider_job_id))
end
