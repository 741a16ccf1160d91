//! Names of assertions in the frameworks of each language.

/// Names of assertions, each with its opposite; one way, and the other.
const OPPOSITES: &[(&str, &str)] = &[
    ("assertEqual", "assertNotEqual"),
    ("assertEquals", "assertNotEquals"),
    ("assertSame", "assertNotSame"),
    ("assertTrue", "assertFalse"),
    ("assertIn", "assertNotIn"),
    ("assertIs", "assertIsNot"),
    ("assertIsNone", "assertIsNotNone"),
    ("assertIsInstance", "assertNotIsInstance"),
    ("assertNull", "assertNotNull"),
    ("assertEmpty", "assertNotEmpty"),
    ("assertCount", "assertNotCount"),
    ("assertContains", "assertNotContains"),
    ("assertStringContainsString", "assertStringNotContainsString"),
    ("assertInstanceOf", "assertNotInstanceOf"),
    ("assertAlmostEqual", "assertNotAlmostEqual"),
    ("assertRegex", "assertNotRegex"),
    ("assertGreater", "assertLessEqual"),
    ("assertLess", "assertGreaterEqual"),
    ("assertArrayHasKey", "assertArrayNotHasKey"),
    ("assert_eq!", "assert_ne!"),
    ("assert_equal", "refute_equal"),
    ("assert_nil", "refute_nil"),
    ("assert_includes", "refute_includes"),
    ("assert_match", "refute_match"),
    ("assert_empty", "refute_empty"),
    ("assert_in_delta", "refute_in_delta"),
    ("assert_predicate", "refute_predicate"),
    ("assert_operator", "refute_operator"),
    (".strictEqual", ".notStrictEqual"),
    (".equal", ".notEqual"),
    (".deepEqual", ".notDeepEqual"),
    (".deepStrictEqual", ".notDeepStrictEqual"),
    (".throws", ".doesNotThrow"),
    (".rejects", ".doesNotReject"),
    (".match", ".doesNotMatch"),
    (".Equal", ".NotEqual"),
    (".Same", ".NotSame"),
    (".True", ".False"),
    (".Nil", ".NotNil"),
    (".Null", ".NotNull"),
    (".Empty", ".NotEmpty"),
    (".Contains", ".NotContains"),
    (".NoError", ".Error"),
    (".AreEqual", ".AreNotEqual"),
    (".IsTrue", ".IsFalse"),
    (".IsNull", ".IsNotNull"),
    ("EXPECT_EQ", "EXPECT_NE"),
    ("ASSERT_EQ", "ASSERT_NE"),
    ("EXPECT_STREQ", "EXPECT_STRNE"),
    ("ASSERT_STREQ", "ASSERT_STRNE"),
    ("EXPECT_TRUE", "EXPECT_FALSE"),
    ("ASSERT_TRUE", "ASSERT_FALSE"),
    ("TEST_ASSERT_EQUAL", "TEST_ASSERT_NOT_EQUAL"),
    ("TEST_ASSERT_TRUE", "TEST_ASSERT_FALSE"),
    ("CHECK", "CHECK_FALSE"),
    ("REQUIRE", "REQUIRE_FALSE"),
    ("is", "isnt"),
];

/// Assertions about lists and the like, whose opposite is that of equality.
const EQUAL_TOO: [&str; 6] = [
    "assertListEqual",
    "assertDictEqual",
    "assertSetEqual",
    "assertTupleEqual",
    "assertSequenceEqual",
    "assertMultiLineEqual",
];

/// Assertions of two values, of which another one can be expected.
pub(super) const OF_TWO: [&str; 17] = [
    "assertEqual",
    "assertEquals",
    "assertSame",
    "assert_eq!",
    "assert_equal",
    ".strictEqual",
    ".equal",
    ".deepEqual",
    ".deepStrictEqual",
    ".AreEqual",
    ".Equal",
    "EXPECT_EQ",
    "ASSERT_EQ",
    "EXPECT_STREQ",
    "ASSERT_STREQ",
    "TEST_ASSERT_EQUAL",
    "is",
];

/// Assertions of what something contains, where a text stands for one of the two.
pub(super) const CONTAINS: [&str; 6] = [
    "assertIn",
    "assertContains",
    "assertStringContainsString",
    ".Contains",
    ".include",
    "assert_includes",
];

/// The opposite of an assertion.
pub(super) fn opposite_of(name: &str) -> Option<&'static str> {
    OPPOSITES.iter().find_map(|(one, other)| match name {
        _ if name == *one => Some(*other),
        _ if name == *other => Some(*one),
        _ => None,
    })
}

/// The name of an assertion that is as good for all types.
pub(super) fn plain_name(name: &str) -> &str {
    if EQUAL_TOO.contains(&name) { "assertEqual" } else { name }
}
