# frozen_string_literal: true

require_relative "../lib/slug"

RSpec.describe Slug do
  it "drops signs at the ends" do
    expect(Slug.of("-- a --")).to eq("a")
  end
end
