# frozen_string_literal: true

require_relative "lib/slug"

Gem::Specification.new do |spec|
  spec.name = "slug"
  spec.version = Slug::VERSION
  spec.summary = "Names for addresses"
  spec.description = "Makes names for addresses out of titles."
  spec.authors = ["Ada"]
  spec.homepage = "https://example.org"
  spec.license = "MIT"
  spec.required_ruby_version = ">= 2.7"
  spec.files = Dir["lib/**/*.rb"]
end
