# frozen_string_literal: true

# SPDX-License-Identifier: Apache-2.0
Gem::Specification.new do |spec|
  spec.name = "pawl"
  spec.version = "0.2.0"
  spec.summary = "Client and worker for the pawl job queue"
  spec.authors = ["the authors of pawl"]
  spec.license = "Apache-2.0"
  spec.required_ruby_version = ">= 3.0"
  spec.files = ["pawl.rb", "pawl_active_job.rb"]
  spec.require_paths = ["."]
end
