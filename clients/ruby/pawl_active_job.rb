# frozen_string_literal: true

# SPDX-License-Identifier: Apache-2.0
#
# pawl_active_job - Active Job on pawl.
#
#   require "pawl_active_job"
#   ActiveJob::Base.queue_adapter = ActiveJob::QueueAdapters::PawlAdapter.new(Pawl::Client.new)
#
# and in the program that does the jobs (pawl handler set active_job --lang pull, once):
#
#   Pawl::ActiveJobWorker.new(Pawl::Client.new, concurrency: 5).run    # until SIGTERM
require "active_job"
require "time"
require_relative "pawl"

module Pawl
  ACTIVE_JOB_TYPE = "active_job"

  # Does jobs of Active Job with threads. What a job raises beyond its own retry_on and
  # discard_on is tried again as pawl's job says. Options are those of Pawl::Worker.
  class ActiveJobWorker < Worker
    def initialize(client, type: ACTIVE_JOB_TYPE, **options)
      super(client, { type => ->(job) { perform(job) } }, **options)
    end

    def perform(job)
      ActiveJob::Base.execute(job.json)
      nil # what a job of Active Job returns means nothing
    end
  end
end

module ActiveJob
  module QueueAdapters
    # A job's queue, priority (larger is first) and due time are pawl's; its name is the class.
    class PawlAdapter
      attr_reader :client

      def initialize(client = Pawl::Client.new, type: Pawl::ACTIVE_JOB_TYPE)
        @client, @type = client, type
      end

      def enqueue(job)
        add(job)
      end

      def enqueue_at(job, timestamp)
        add(job, run_at: Time.at(timestamp).utc.iso8601(3))
      end

      private

      def add(job, **fields)
        fields[:queue] = job.queue_name if job.queue_name
        fields[:priority] = job.priority if job.priority
        job.provider_job_id = @client.add(@type, job.serialize, name: job.class.name, **fields)
      end
    end
  end
end
