# frozen_string_literal: true

# SPDX-License-Identifier: Apache-2.0
# sidekiq_app - adds jobs by Sidekiq itself, to the Redis at REDIS_SOCKET.
require "sidekiq"

Sidekiq.configure_client { |config| config.redis = { url: "unix://#{ENV.fetch("REDIS_SOCKET")}" } }

# Nobody performs it here.
class Letter
  include Sidekiq::Worker
  sidekiq_options queue: "mail", retry: 5
end

Letter.perform_async("ann", { "n" => 9_007_199_254_740_993 })
Letter.perform_async("bob")
Letter.perform_in(3600, "cid")
