# frozen_string_literal: true

require "minitest/autorun"
require "tempfile"
require_relative "../lib/slug"

class TestSlug < Minitest::Test
  def test_blanks_become_dashes
    assert_equal "hello-world", Slug.of("Hello,  World!")
  end

  def test_temporary_file
    Tempfile.create("slug") { |file| assert File.exist?(file.path) }
  end
end
