# frozen_string_literal: true

# Makes names for addresses out of titles.
module Slug
  VERSION = "0.1.0"

  def self.of(title)
    title.downcase.gsub(/[^a-z0-9]+/, "-").gsub(/\A-|-\z/, "")
  end
end
